"""What an engine says of itself, as laws read it, and when that is too old to be believed."""

from __future__ import annotations

import math
from dataclasses import dataclass

STALE_POLLS = 3.0
"""A reading older than so many polls is stale; until then the last one holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """One reading. None where the engine doesn't say. Times are seconds on the host's clock."""

    read_at: float
    poll_s: float = 1.0
    """How often the host reads."""
    running: int | None = None
    waiting: int | None = None
    kv_used: float | None = None
    """Share of the KV cache that running requests hold, 0 to 1."""
    kv_tokens: int | None = None
    """How many tokens the KV cache holds."""
    max_running: int | None = None
    """How many requests the engine runs at once."""
    prefill_rate: float | None = None
    """Prompt tokens a second."""

    def stale(self, now: float) -> bool:
        """Older than three polls, or from a clock that can't be followed."""
        age = now - self.read_at
        return not (math.isfinite(age) and age >= 0.0 and age <= STALE_POLLS * self.poll_s)

    def kv(self) -> float | None:
        """KV use where it is a share; NaN and nonsense count as not said."""
        return _share(self.kv_used)


def fresh(seen: Signals | None, now: float) -> Signals | None:
    """The reading if it can be believed."""
    return None if seen is None or seen.stale(now) else seen


def _share(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and 0.0 <= value <= 1.5 else None
