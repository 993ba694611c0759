"""What the model says of itself to a policy's laws: once a second, as a scraper would have it."""

from __future__ import annotations

import math

from schedulers.signals import Signals
from simulator.core.engine import Engine

POLL_S = 1.0


class Readings:
    """The last reading holds until the next second has begun."""

    def __init__(self, engine: Engine, prefill_rate: float | None) -> None:
        self._engine = engine
        self._prefill_rate = prefill_rate
        self._last = Signals(read_at=-math.inf, poll_s=POLL_S)

    def at(self, now: float) -> Signals:
        """The newest reading; it is made when it is asked for."""
        if now - self._last.read_at >= POLL_S:
            engine, pool = self._engine, self._engine.pool
            self._last = Signals(
                read_at=math.floor(now / POLL_S) * POLL_S,
                poll_s=POLL_S,
                running=len(engine.running),
                waiting=len(engine.waiting) + engine.ingesting,
                kv_used=pool.usage,
                kv_tokens=pool.usable * pool.block_size,
                max_running=engine.config.max_seqs,
                prefill_rate=self._prefill_rate,
            )
        return self._last
