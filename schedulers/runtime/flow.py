"""Those of one tenant and tier that wait, and which of them a law has next.

``schedulers.ordering.base.choose`` asks a law of all that wait, each time. Here ranks are kept as
the law says that they move, and a law that drops is asked only of those that it says can be
hopeless by now: a turn costs the logarithm of what waits. Both find the same (tested).
"""

from __future__ import annotations

import heapq
import math
from bisect import insort
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from schedulers.ordering.base import Motion, OrderingLaw, Rank, Waiting
from schedulers.runtime.rank_heap import RankHeap
from schedulers.runtime.tournament import Tournament

_SPARE = 64
"""Entries of those that have left which a heap may hold, besides as many as there are others."""


def first_of(
    flows: Iterable[Flow], law: OrderingLaw[Any], state: Any, now: float
) -> Waiting | None:
    """Who has the lowest rank in all of them, the first of equals; None where nobody is."""
    found: Waiting | None = None
    lowest: Rank = ()
    for flow in flows:
        rank, one = flow.first(law, state, now)
        if found is None or rank < lowest:
            lowest, found = rank, one
    return found


class Flow:
    """In order of arrival, told by serials. The law and its state are handed in, and may be others
    each time."""

    def __init__(self) -> None:
        self._ones: OrderedDict[int, Waiting] = OrderedDict()
        """By serial, as all that follows."""
        self._law: OrderingLaw[Any] | None = None
        self._state: Any = None
        self._ranked: RankHeap | Tournament | None = None
        """None: to be made. So is the next."""
        self._dated: list[tuple[float, int]] | None = None
        """A heap by when they can be hopeless."""
        self._late: list[int] = []
        """Those that can be by now, in order."""
        self._lead: tuple[Rank, Waiting] | None = None
        """The first, as long as nobody comes or leaves, and until then:"""
        self._lead_until = math.inf
        self._unranked: dict[int, Waiting] = {}
        self._undated: list[Waiting] = []

    def __len__(self) -> int:
        return len(self._ones)

    def __contains__(self, serial: int) -> bool:
        return serial in self._ones

    def __iter__(self) -> Iterator[Waiting]:
        return iter(self._ones.values())

    @property
    def head(self) -> Waiting:
        """Who is first by arrival."""
        return next(iter(self._ones.values()))

    @property
    def tail(self) -> Waiting:
        """Who came last."""
        return next(reversed(self._ones.values()))

    def add(self, one: Waiting) -> None:
        """It comes, or comes back: before all that came after it."""
        ones, serial = self._ones, one.request.serial
        behind = bool(ones) and serial < next(reversed(ones))
        ones[serial] = one
        if behind:
            self._make_way(serial)
        self._lead = None
        if self._ranked is not None:
            self._unranked[serial] = one
        if self._dated is not None:
            self._undated.append(one)

    def remove(self, one: Waiting) -> None:
        """It waits no more. KeyError where it didn't."""
        serial = one.request.serial
        del self._ones[serial]
        self._lead = None
        if self._ranked is not None and self._unranked.pop(serial, None) is None:
            self._ranked.remove(serial)
        dated = self._dated
        if dated is not None:
            held = len(dated) + len(self._late) + len(self._undated)
            if held > 2 * len(self._ones) + _SPARE:
                self._dated = None

    def hopeless(self, law: OrderingLaw[Any], now: float) -> Waiting | None:
        """The first by arrival that the law drops. Where only heads matter, of the head alone."""
        if law.fifo_within_tenant:
            head = self.head
            return head if law.hopeless(head, now) else None
        if self._dated is None and len(self._ones) == 1:
            head = self.head
            return head if law.hopeless_from(head) <= now and law.hopeless(head, now) else None
        late, dated = self._late, self._dated
        known = dated is not None and law is self._law and not (late or self._undated)
        if known and not (dated and dated[0][0] <= now):
            return None
        ones, late = self._ones, self._late_by(law, now)
        while late and late[0] not in ones:
            late.pop(0)
        for serial in late:
            one = ones.get(serial)
            if one is not None and law.hopeless(one, now):
                return one
        return None

    def first(self, law: OrderingLaw[Any], state: Any, now: float) -> tuple[Rank, Waiting]:
        """The lowest rank, and whose it is: of equals the first by arrival."""
        if law.fifo_within_tenant or (self._ranked is None and len(self._ones) == 1):
            head = self.head
            return law.rank(state, head, now), head
        lead, known = self._lead, state is self._state and law is self._law
        if lead is not None and known and now < self._lead_until:
            return lead
        if law.motion is Motion.MOVES:
            ones = list(self._ones.values())
            ranks = [law.rank(state, one, now) for one in ones]
            lowest = min(ranks)
            return lowest, ones[ranks.index(lowest)]
        ranked = self._ranked_by(law, state, now)
        lead = ranked.first(now)
        if isinstance(ranked, RankHeap):
            self._lead, self._lead_until = lead, ranked.until
        return lead

    def _make_way(self, serial: int) -> None:
        """All that came after one that stands last go behind it."""
        ones = self._ones
        if serial < next(iter(ones)):
            ones.move_to_end(serial, last=False)
            return
        for later in sorted(each for each in ones if each > serial):
            ones.move_to_end(later)

    def _decided_by(self, law: OrderingLaw[Any]) -> None:
        if law is not self._law:
            self._law, self._ranked, self._dated = law, None, None

    def _ranked_by(self, law: OrderingLaw[Any], state: Any, now: float) -> RankHeap | Tournament:
        self._decided_by(law)
        ranked = self._ranked
        if ranked is None or state is not self._state:
            kind = Tournament if law.motion is Motion.RISES else RankHeap
            ranked = self._ranked = kind(law, state)
            self._state, self._unranked = state, dict(self._ones)
        if self._unranked:
            for one in self._unranked.values():
                ranked.add(one, now)
            self._unranked.clear()
        return ranked

    def _late_by(self, law: OrderingLaw[Any], now: float) -> list[int]:
        self._decided_by(law)
        if self._dated is None:
            self._dated, self._late, self._undated = [], [], list(self._ones.values())
        for one in self._undated:
            since = law.hopeless_from(one)
            if since < math.inf:
                heapq.heappush(self._dated, (since, one.request.serial))
        self._undated.clear()
        while self._dated and self._dated[0][0] <= now:
            serial = heapq.heappop(self._dated)[1]
            if serial in self._ones:
                insort(self._late, serial)
        return self._late
