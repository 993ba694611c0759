"""The feed of an engine's signals: polled apart from the load, with a time-out of its own.

It has its own connections, so a slow ``/metrics`` delays nothing but itself. A poll that brings
nothing leaves the last reading in place, and three in a row make the feed say ``stale``: an old
number is no current one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from documents.problem import DocumentError
from engines.egress import EgressRules
from engines.http_get import GetFailed, get
from engines.signals.base import EngineSignals, adapter
from engines.target import Target
from engines.transport.base import Clock
from engines.transport.httptools_stream import HttptoolsTransport

STALE_AFTER = 3
SCRAPE_LIMIT = 8 * 1024 * 1024

OnSignals = Callable[[EngineSignals], None]


class SignalsFeed:
    """Polls one target. ``latest`` is the last reading, ``reason`` why the last poll had none."""

    def __init__(
        self,
        target: Target,
        rules: EgressRules,
        *,
        clock: Clock = time.monotonic,
        interval: float = 1.0,
        within: float | None = None,
        on_signals: OnSignals | None = None,
    ) -> None:
        self._target = target
        self._adapter = adapter(target.kind)
        self._transport = HttptoolsTransport(rules, keep_alive=1)
        self._clock = clock
        self.interval = interval
        """Seconds between two polls."""
        self._within = within if within is not None else interval
        self._on_signals = on_signals
        self.latest: EngineSignals | None = None
        self.missed = 0
        """Polls since the last one that brought something."""
        self.reason = "" if self.supported else f"{target.kind} has no signals"

    @property
    def supported(self) -> bool:
        """Whether this kind of engine says anything at all."""
        return self._adapter.metrics_path is not None

    @property
    def capabilities(self) -> frozenset[str]:
        """The signals that this engine gives: what it was seen to say, else what its kind can."""
        return self._adapter.capabilities if self.latest is None else self.latest.present

    @property
    def stale(self) -> bool:
        """Three polls in a row brought nothing: ``latest`` is history."""
        return self.missed >= STALE_AFTER

    @property
    def current(self) -> EngineSignals | None:
        """The latest reading, unless it is stale."""
        return None if self.stale else self.latest

    async def run(self) -> None:
        """Poll at a fixed pace until cancelled; returns at once for a kind without signals."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        try:
            while self.supported:
                await self.poll()
                due = max(due + self.interval, loop.time())
                await asyncio.sleep(due - loop.time())
        finally:
            await self._transport.close()

    async def poll(self) -> EngineSignals | None:
        """One reading, or None with ``reason`` set. A failed poll is counted, never raised."""
        path = self._adapter.metrics_path
        if path is None:
            return None
        try:
            page = await get(
                self._target.url(path),
                self._transport,
                within=self._within,
                headers=self._target.headers(),
                limit=SCRAPE_LIMIT,
                clock=self._clock,
            )
        except (GetFailed, DocumentError) as error:
            return self._miss(str(error))
        if page.status != 200:
            return self._miss(f"{path} answered HTTP {page.status}")
        seen = self._adapter.parse(page.text, page.at)
        if not seen.present:
            return self._miss(f"{path} holds none of {self._target.kind}'s names")
        self.latest, self.missed, self.reason = seen, 0, ""
        if self._on_signals is not None:
            self._on_signals(seen)
        return seen

    async def close(self) -> None:
        """Close the connection; ``run`` does so itself."""
        await self._transport.close()

    def _miss(self, reason: str) -> EngineSignals | None:
        self.missed += 1
        self.reason = reason
        return None
