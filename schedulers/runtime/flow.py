"""Those of one tenant and tier that wait, and which of them a law has next.

``schedulers.ordering.base.choose`` asks a law of all that wait, each time. Here a law whose ranks
stand still is asked once for each, and one that drops is asked only of those that it says can be
hopeless by now: a turn costs the logarithm of what waits. Both find the same (tested).
"""

from __future__ import annotations

import heapq
import math
from bisect import insort
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from schedulers.ordering.base import OrderingLaw, Rank, Waiting

_SPARE = 64
"""Entries of those that have left which heaps may hold, besides as many as there are others."""


class Flow:
    """In order of arrival. The law and its state are handed in, and may be others each time.

    Heaps hold a request's place besides, which breaks ties; who has left is found by it.
    """

    def __init__(self) -> None:
        self._ones: OrderedDict[int, Waiting] = OrderedDict()
        self._places: dict[int, int] = {}
        """By serial."""
        self._head_place, self._tail_place = 0, 0
        self._law: OrderingLaw[Any] | None = None
        self._state: Any = None
        self._ranked: list[tuple[Rank, int, Waiting]] | None = None
        """A heap by rank; None: to be made. So is the next."""
        self._dated: list[tuple[float, int, Waiting]] | None = None
        """A heap by when they can be hopeless."""
        self._late: list[tuple[int, Waiting]] = []
        """Those that can be by now, by place."""
        self._unranked: list[tuple[int, Waiting]] = []
        self._undated: list[tuple[int, Waiting]] = []

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

    def append(self, one: Waiting) -> None:
        """It comes."""
        self._tail_place += 1
        self._put(one, self._tail_place)

    def put_back(self, one: Waiting) -> None:
        """It comes back, before all that came after it: by their serials, which rise."""
        if not self._ones or self.head.request.serial > one.request.serial:
            self._head_place -= 1
            self._put(one, self._head_place)
            self._ones.move_to_end(one.request.serial, last=False)
            return
        self._ones[one.request.serial] = one
        for place, serial in enumerate(sorted(self._ones), start=1):
            self._ones.move_to_end(serial)
            self._places[serial] = place
        self._head_place, self._tail_place = 0, len(self._ones)
        self._ranked = self._dated = None

    def remove(self, one: Waiting) -> None:
        """It waits no more. KeyError where it didn't."""
        del self._ones[one.request.serial], self._places[one.request.serial]
        most = 2 * len(self._ones) + _SPARE
        if self._ranked is not None and len(self._ranked) + len(self._unranked) > most:
            self._ranked = None
        dated = self._dated
        if dated is not None and len(dated) + len(self._late) + len(self._undated) > most:
            self._dated = None

    def hopeless(self, law: OrderingLaw[Any], now: float) -> Waiting | None:
        """The first by place that the law drops. Where only heads matter, of the head alone."""
        if law.fifo_within_tenant:
            head = self.head
            return head if law.hopeless(head, now) else None
        late = self._late_by(law, now)
        while late and not self._waits(*late[0]):
            late.pop(0)
        for place, one in late:
            if self._waits(place, one) and law.hopeless(one, now):
                return one
        return None

    def first(self, law: OrderingLaw[Any], state: Any, now: float) -> tuple[Rank, Waiting]:
        """The lowest rank, and whose it is: of equals the first by place."""
        if law.fifo_within_tenant:
            head = self.head
            return law.rank(state, head, now), head
        if law.moves:
            ones = list(self._ones.values())
            ranks = [law.rank(state, one, now) for one in ones]
            lowest = min(ranks)
            return lowest, ones[ranks.index(lowest)]
        ranked = self._ranked_by(law, state, now)
        while not self._waits(ranked[0][1], ranked[0][2]):
            heapq.heappop(ranked)
        rank, _, one = ranked[0]
        return rank, one

    def _put(self, one: Waiting, place: int) -> None:
        self._ones[one.request.serial] = one
        self._places[one.request.serial] = place
        if self._ranked is not None:
            self._unranked.append((place, one))
        if self._dated is not None:
            self._undated.append((place, one))

    def _waits(self, place: int, one: Waiting) -> bool:
        return self._places.get(one.request.serial) == place

    def _all(self) -> list[tuple[int, Waiting]]:
        return [(self._places[serial], one) for serial, one in self._ones.items()]

    def _decided_by(self, law: OrderingLaw[Any]) -> None:
        if law is not self._law:
            self._law, self._ranked, self._dated = law, None, None

    def _ranked_by(
        self, law: OrderingLaw[Any], state: Any, now: float
    ) -> list[tuple[Rank, int, Waiting]]:
        self._decided_by(law)
        if self._ranked is None or state is not self._state:
            self._state, self._ranked, self._unranked = state, [], self._all()
        for place, one in self._unranked:
            heapq.heappush(self._ranked, (law.rank(state, one, now), place, one))
        self._unranked.clear()
        return self._ranked

    def _late_by(self, law: OrderingLaw[Any], now: float) -> list[tuple[int, Waiting]]:
        self._decided_by(law)
        if self._dated is None:
            self._dated, self._late, self._undated = [], [], self._all()
        for place, one in self._undated:
            since = law.hopeless_from(one)
            if since < math.inf:
                heapq.heappush(self._dated, (since, place, one))
        self._undated.clear()
        while self._dated and self._dated[0][0] <= now:
            _, place, one = heapq.heappop(self._dated)
            if self._waits(place, one):
                insort(self._late, (place, one), key=_place)
        return self._late


def _place(entry: tuple[int, Waiting]) -> int:
    return entry[0]
