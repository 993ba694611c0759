"""The engine as a server: a port, a real clock and the signals that end it."""

from __future__ import annotations

import asyncio
import errno
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata

from simulator.app import EngineApp, Identity
from simulator.core.config import EngineConfig
from simulator.core.engine import Engine
from simulator.faults import Faults
from simulator.http.connection import Connection
from simulator.realtime import Timer

TIMER_GRAIN_S = 0.0005
"""uvloop rounds delays to whole milliseconds; half of one more keeps it from waking early."""
BACKLOG = 4096


class PortTaken(OSError):  # noqa: N818 - reads as what happened
    """Somebody else listens there."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """All that one server needs to know."""

    config: EngineConfig
    host: str = "127.0.0.1"
    port: int = 8000
    model: str = "simulated"
    seed: int = 0
    faults: Faults = field(default_factory=Faults)


class EngineServer:
    """A listening engine. ``async with`` it, or ``start`` and ``stop``."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._began = time.monotonic()
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self.app: EngineApp | None = None

    @property
    def port(self) -> int:
        """The port that was given, or found if that was 0."""
        assert self._server is not None  # noqa: S101 - asked before start
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self) -> None:
        """Listen. PortTaken if somebody else does."""
        options = self._options
        identity = Identity(options.model, _version(), int(time.time()))
        self.app = app = EngineApp(
            Engine(options.config, seed=options.seed),
            identity,
            options.faults,
            seed=options.seed,
            clock=self._clock,
            call_at=self._call_at,
        )
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: Connection(app, self._connections),
                options.host,
                options.port,
                backlog=BACKLOG,
            )
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                taken = f"port {options.port} on {options.host} is taken"
                raise PortTaken(f"{taken}; choose another with --port") from None
            raise

    async def stop(self) -> None:
        """Close the port and every connection, whatever is being said."""
        if self.app is not None:
            self.app.host.close()
        if self._server is not None:
            self._server.close()
            for connection in list(self._connections):
                connection.close()
            await self._server.wait_closed()

    async def __aenter__(self) -> EngineServer:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    def _clock(self) -> float:
        return time.monotonic() - self._began

    def _call_at(self, when: float, then: Callable[[], None]) -> Timer:
        delay = when - self._clock()
        loop = asyncio.get_running_loop()
        if delay <= 0:
            return loop.call_soon(then)
        return loop.call_later(delay + TIMER_GRAIN_S, then)


async def serve(options: ServerOptions, *, ready: Callable[[int], None]) -> None:
    """Serve until SIGTERM or SIGINT; ``ready`` is told the port once it listens."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    async with EngineServer(options) as server:
        ready(server.port)
        await ended.wait()


def _version() -> str:
    try:
        return metadata.version("headway")
    except metadata.PackageNotFoundError:
        return "0"
