"""What engines say of themselves, read once a second for lanes whose policy has a law that asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from engines.egress import EgressRules
from engines.readings import reading
from engines.signals_feed import SignalsFeed
from gateway.engine import Engine
from gateway.lane import Lane
from schedulers.signals import Signals

POLL_S = 1.0


class Readings:
    """Owns the feeds. An engine that no lane asks about any more is not asked."""

    def __init__(self, rules: EgressRules, clock: Callable[[], float]) -> None:
        self._rules = rules
        self._clock = clock
        self._feeds: dict[Engine, SignalsFeed] = {}

    async def turn(self, lanes: Sequence[Lane]) -> None:
        """Ask each once, all at the same time; an engine that does not answer delays none."""
        wanted = {engine for lane in lanes if lane.reads for engine in lane.engines}
        for engine in self._feeds.keys() - wanted:
            await self._feeds.pop(engine).close()
        for engine in wanted - self._feeds.keys():
            self._feeds[engine] = SignalsFeed(
                engine.target, self._rules, clock=self._clock, interval=POLL_S
            )
        for lane in lanes:
            lane.read = self._reader(lane)
        await asyncio.gather(*(feed.poll() for feed in self._feeds.values()))

    async def close(self) -> None:
        """Close every connection."""
        while self._feeds:
            _, feed = self._feeds.popitem()
            await feed.close()

    def _reader(self, lane: Lane) -> Callable[[], Signals | None]:
        def read() -> Signals | None:
            able = [engine for engine in lane.engines if engine.up]
            feeds = [self._feeds.get(engine) for engine in able]
            return together([None if feed is None else reading(feed, float) for feed in feeds])

        return read


def together(seen: Sequence[Signals | None]) -> Signals | None:
    """Equal engines as one: counts add up, the fullest cache and the oldest reading stand.

    None where one of them says nothing of itself, as then nothing is known of them all.
    """
    known = [one for one in seen if one is not None]
    if not known or len(known) < len(seen):
        return None
    kv = [one.kv_used for one in known if one.kv_used is not None]
    return Signals(
        read_at=min(one.read_at for one in known),
        poll_s=POLL_S,
        running=_sum([one.running for one in known]),
        waiting=_sum([one.waiting for one in known]),
        kv_used=max(kv) if len(kv) == len(known) else None,
        kv_tokens=_sum([one.kv_tokens for one in known]),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    told = [value for value in values if value is not None]
    return sum(told) if len(told) == len(values) else None
