"""When to come back, and a place kept for whoever does.

Each refusal is promised a time at which its turn will have come, behind everyone promised before;
until then, and for a grace after, no newcomer takes the place. So ``Retry-After`` is never
undercut, and refused callers come back one after another instead of all at once.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass

import numpy as np

SHORTEST = 1.0
LONGEST = 60.0
GRACE = 2.0
"""Seconds for which a place is kept after its time: the header counts in whole seconds."""
EARLY = 0.001
"""Seconds by which a caller may be early: what it was told counts in milliseconds."""
JITTER = 0.25
MOST_JITTER = 1.0


@dataclass(slots=True, eq=False)
class _Promise:
    tenant: str
    told_at: float
    kept_until: float


class Promises:
    """The promises of one queue. ``rng`` draws the jitter, which only ever adds."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._open: OrderedDict[int, _Promise] = OrderedDict()
        self._by_tenant: dict[str, deque[int]] = {}
        self._serial = 0
        self._last = 0.0
        self._due = 0.0
        """When the last promise comes due, without its jitter."""

    def outstanding(self, now: float) -> int:
        """Promises that still hold."""
        while self._open:
            serial, oldest = next(iter(self._open.items()))
            if oldest.kept_until >= now:
                break
            self._drop(serial)
        return len(self._open)

    def redeem(self, now: float, tenant: str) -> bool:
        """Whether one of the tenant's promises has come due; if so, it is used up."""
        self.outstanding(now)
        for serial in self._by_tenant.get(tenant, ()):
            if self._open[serial].told_at <= now + EARLY:
                self._drop(serial)
                return True
        return False

    def refuse(self, now: float, tenant: str, *, rate: float, latency: float) -> float:
        """Seconds after which to come back. Beyond the longest wait, no place is kept."""
        turn = max(self._last, now) + 1.0 / rate
        # Behind everyone promised before, though a service that was thought long has proved short.
        due = max(turn + latency, self._due + 1.0 / rate)
        wait = max(due - now, SHORTEST)
        told = wait + float(self._rng.random()) * min(JITTER * wait, MOST_JITTER)
        if told > LONGEST:
            return LONGEST + float(self._rng.random()) * MOST_JITTER
        self._last, self._due = turn, due
        self._serial += 1
        kept = now + wait + MOST_JITTER + GRACE
        if self._open:
            kept = max(kept, self._open[next(reversed(self._open))].kept_until)
        self._open[self._serial] = _Promise(tenant, now + told, kept)
        self._by_tenant.setdefault(tenant, deque()).append(self._serial)
        return told

    def _drop(self, serial: int) -> None:
        tenant = self._open.pop(serial).tenant
        serials = self._by_tenant[tenant]
        serials.remove(serial)
        if not serials:
            del self._by_tenant[tenant]
