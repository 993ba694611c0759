"""A gateway with its control plane: fed by it, reporting to it, and serving on without it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from engines.transport.httptools_stream import HttptoolsTransport
from gateway.config import GatewayConfig
from gateway.control_plane import ControlPlane
from gateway.policy_feed import ConfigFile, PolicyFeed
from gateway.server import GatewayServer, ServerOptions
from gateway.spool import BOUND, Spool, hold
from gateway.telemetry import Telemetry

COLLECT_EVERY = 1.0
SEND_AT_ONCE = 50
"""Batches sent in a row before the loop gives way to others for a moment."""
LAST_SEND = 3.0
AFTER_A_FAULT = 1.0

log = logging.getLogger("headway.gateway")


@dataclass(frozen=True, slots=True)
class Attachment:
    """Which control plane, under which name, and where state is kept."""

    url: str
    slug: str
    token: str
    folder: Path
    bound: int = BOUND


class AttachedGateway:
    """Starts as soon as it has a configuration: the kept one, or the first that comes."""

    def __init__(
        self,
        attachment: Attachment,
        options: ServerOptions,
        clock: Callable[[], float],
    ) -> None:
        self._options = options
        self._clock = clock
        self._transport = HttptoolsTransport(options.rules)
        self.control_plane = ControlPlane(
            attachment.url, attachment.slug, attachment.token, self._transport
        )
        self._held = hold(attachment.folder)
        self.feed = PolicyFeed(
            self.control_plane,
            ConfigFile(attachment.folder / "config.json"),
            clock,
            self._adopt,
        )
        self.spool = Spool(attachment.folder / "telemetry", bound=attachment.bound)
        self.server: GatewayServer | None = None
        self.telemetry: Telemetry | None = None
        self._began = clock()

    async def start(self) -> GatewayServer:
        """Serve; waits for a first configuration where none was kept."""
        if not self.feed.resume():
            await self.feed.poll()
            while self.server is None:
                await asyncio.sleep(self.feed.delay())
                await self.feed.poll()
        server = self.server
        assert server is not None  # noqa: S101 - resume() adopted one
        self.telemetry = Telemetry(server.books, server.router, self.spool, self._clock, self.feed)
        server.state = self._gauges
        server.reported = True
        await server.start()
        for step in (self._poll, self._collect, self._send):
            server.loop(_forever(step))
        return server

    async def stop(self) -> None:
        """The last batch is kept, and sent if that takes no time."""
        if self.server is not None:
            await self.server.stop()
        if self.telemetry is not None:
            self.telemetry.collect(last=True)
            try:
                async with asyncio.timeout(LAST_SEND):
                    while await self.telemetry.send(self.control_plane):
                        pass
            except TimeoutError:
                pass
        await self._transport.close()
        os.close(self._held)

    def _adopt(self, config: GatewayConfig) -> None:
        if self.server is None:
            self.server = GatewayServer(config, self._options, clock=self._clock)
        else:
            self.server.configure(config)

    async def _poll(self) -> None:
        await self.feed.poll()
        self._tell_router()
        await asyncio.sleep(self.feed.delay())

    def _tell_router(self) -> None:
        if self.server is not None:
            heard = self.feed.heard_at
            blind = self._began if heard is None else heard
            self.server.router.blind_since = blind if self.feed.silent else None

    async def _collect(self) -> None:
        assert self.telemetry is not None  # noqa: S101 - started after it
        await asyncio.sleep(COLLECT_EVERY)
        self.telemetry.collect()

    async def _send(self) -> None:
        assert self.telemetry is not None  # noqa: S101 - started after it
        sent = 0
        while sent < SEND_AT_ONCE and await self.telemetry.send(self.control_plane):
            sent += 1
        pause = 0.05 if sent == SEND_AT_ONCE else 0.25
        await asyncio.sleep(self.telemetry.delay() if self.telemetry.failures else pause)

    def _gauges(self) -> dict[str, float]:
        heard = self.feed.heard_at
        return {
            "config_refused": self.feed.refused,
            "control_plane_silent_seconds": self._clock()
            - (self._began if heard is None else heard),
            "telemetry_pending": len(self.spool),
            "telemetry_dropped": self.spool.dropped,
        }


async def _forever(step: Callable[[], Awaitable[None]]) -> None:
    """Step after step; one that fails costs that step, and never the loop."""
    while True:
        try:
            await step()
        except Exception:
            log.exception("a step of the gateway's loop failed")
            await asyncio.sleep(AFTER_A_FAULT)
