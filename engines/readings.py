"""What an engine says of itself, as a policy's laws take it."""

from __future__ import annotations

import math
from collections.abc import Callable

from engines.signals_feed import SignalsFeed
from schedulers.signals import Signals


def reading(feed: SignalsFeed, since: Callable[[float], float]) -> Signals | None:
    """The last one; its age says whether it can be believed. None: this kind says nothing.

    ``since`` puts the feed's raw stamps on the clock that the laws see.
    """
    if not feed.supported:
        return None
    seen = feed.latest
    if seen is None:
        return Signals(read_at=-math.inf, poll_s=feed.interval)
    return Signals(
        read_at=since(seen.at),
        poll_s=feed.interval,
        running=_count(seen.running),
        waiting=_count(seen.waiting),
        kv_used=seen.kv_use,
        kv_tokens=_count(seen.kv_tokens),
    )


def _count(value: float | None) -> int | None:
    return None if value is None else int(value)
