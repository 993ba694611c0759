"""The gateway as a process: a port, its loops, and an orderly end."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engines.egress import EgressRules
from gateway.app import App
from gateway.books import Books
from gateway.clock import SteadyClock
from gateway.config import GatewayConfig
from gateway.engine import Means
from gateway.http.connection import ClientConnection, Door
from gateway.pipeline import Pipeline
from gateway.readings import POLL_S, Readings
from gateway.routing import Router

BACKLOG = 4096
SWEEP = 0.5

log = logging.getLogger("headway.gateway")


class PortTaken(OSError):  # noqa: N818 - reads as what happened
    """Somebody else listens there."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What one gateway process is given besides its configuration."""

    host: str | None = None
    """Instead of the configuration's."""
    port: int | None = None
    rules: EgressRules = field(default_factory=EgressRules.open)
    drain_s: float = 30.0
    seed: int = 0
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)


class GatewayServer:
    """A listening gateway. ``async with`` it, or ``start``, ``drain`` and ``stop``."""

    def __init__(
        self,
        config: GatewayConfig,
        options: ServerOptions | None = None,
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.options = options or ServerOptions()
        self.clock = clock or SteadyClock()
        means = Means(
            self.clock,
            self.options.rules,
            np.random.default_rng(self.options.seed),
            self.options.environment,
        )
        self.books = Books(config.slo)
        self.router = Router(config, means)
        self.pipeline = Pipeline(
            self.router, self.books, self.clock, lambda: self.router.config.timeouts
        )
        self.readings = Readings(self.options.rules, self.clock)
        self.reported = False
        """Somebody collects the books; without, what nobody will read is dropped."""
        self.state: Callable[[], dict[str, float]] = dict
        """Gauges of what stands around the server: feed and telemetry."""
        self.app = App(self.pipeline, self.router, self.books, self._gauges, self.clock)
        self.door = Door(self.app, self.clock, lambda: self.router.config.limits, set())
        self._server: asyncio.Server | None = None
        self._loops: list[asyncio.Task[None]] = []

    @property
    def port(self) -> int:
        """The port that was given, or found if that was 0."""
        assert self._server is not None  # noqa: S101 - asked before start
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def config(self) -> GatewayConfig:
        """The configuration that serves now."""
        return self.router.config

    def configure(self, config: GatewayConfig) -> None:
        """Serve by another revision from the next request on."""
        if config.listen != self.config.listen and self._server is not None:
            log.warning("the address to listen on changes with the next start")
        self.router.configure(config)
        self.books.judge_by(config.slo)
        self.app.read_keys()

    async def start(self) -> None:
        """Listen. PortTaken if somebody else does."""
        listen, options = self.config.listen, self.options
        host = options.host if options.host is not None else listen.host
        port = options.port if options.port is not None else listen.port
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: ClientConnection(self.door), host, port, backlog=BACKLOG
            )
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                taken = f"port {port} on {host} is taken; choose another with --port"
                raise PortTaken(taken) from None
            raise
        self.loop(self._sweep())
        self.loop(self._read())

    def loop(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a loop beside the requests until the server stops; its fault is logged."""
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(_report)
        self._loops.append(task)

    async def drain(self, within: float | None = None) -> int:
        """Take nothing new, let what is under way end; how many had to be given up."""
        self.app.draining = True
        if self._server is not None:
            self._server.close()
        self.door.close()
        return await self.pipeline.drain(self.options.drain_s if within is None else within)

    async def stop(self) -> None:
        """Close every connection, whatever is being said."""
        await self.drain(0.0)
        for task in self._loops:
            task.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await self.readings.close()
        for connection in list(self.door.connections):
            connection.abort()
        for lane in self.router.lanes.values():
            for engine in lane.engines:
                engine.pool.close()
        await asyncio.sleep(0)

    async def __aenter__(self) -> GatewayServer:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            now = self.clock()
            self.router.settle(now)
            self.door.sweep(now)
            self.pipeline.sweep(now)
            if not self.reported:
                self.books.changed(now)
                self.books.changed_blocks(now)

    async def _read(self) -> None:
        while True:
            try:
                await self.readings.turn(list(self.router.lanes.values()))
            except Exception:
                log.exception("engines could not be asked what they say of themselves")
            await asyncio.sleep(POLL_S)

    def _gauges(self) -> dict[str, float]:
        return {
            "config_revision": self.config.revision,
            "connections": len(self.door.connections),
            **self.state(),
        }


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (fault := task.exception()) is not None:
        log.error("a loop of the gateway ended", exc_info=fault)


async def until_told() -> asyncio.Event:
    """An event that SIGTERM or SIGINT sets."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    return ended
