"""A heap by rank, for laws whose ranks stand still or change at moments that they tell."""

from __future__ import annotations

import heapq
import math
from typing import Any

from schedulers.ordering.base import Motion, OrderingLaw, Rank, Waiting

_SPARE = 64
"""Entries that hold no more which the heap may keep, besides as many as there are others."""


class RankHeap:
    """Of one law and one state of it. Who has left, or has another rank now, is passed over when
    it comes to the top: a turn costs the logarithm of what waits."""

    def __init__(self, law: OrderingLaw[Any], state: Any) -> None:
        self._law, self._state = law, state
        self._steps = law.motion is Motion.STEPS
        self._here: dict[int, tuple[Rank, Waiting]] = {}
        """By serial, with the rank that holds."""
        self._heap: list[tuple[Rank, int]] = []
        self._ends: list[tuple[float, int]] = []
        """When ranks that change in steps are to be asked for again."""

    @property
    def until(self) -> float:
        """Until when ranks stand."""
        return self._ends[0][0] if self._ends else math.inf

    def add(self, one: Waiting, now: float) -> None:
        """It waits."""
        self._rank(one, now)

    def remove(self, serial: int) -> None:
        """It waits no more."""
        del self._here[serial]
        if len(self._heap) > 2 * len(self._here) + _SPARE:
            self._heap = [(rank, each) for each, (rank, _) in self._here.items()]
            heapq.heapify(self._heap)

    def first(self, now: float) -> tuple[Rank, Waiting]:
        """The lowest rank, and whose it is: of equals that of the lowest serial."""
        if self._steps:
            self._renew(now)
        heap, here = self._heap, self._here
        while True:
            rank, serial = heap[0]
            found = here.get(serial)
            if found is not None and found[0] == rank:
                return found
            heapq.heappop(heap)

    def _rank(self, one: Waiting, now: float) -> None:
        serial = one.request.serial
        rank = self._law.rank(self._state, one, now)
        self._here[serial] = (rank, one)
        heapq.heappush(self._heap, (rank, serial))
        if self._steps:
            until = self._law.stands_until(one, now)
            if until < math.inf:
                heapq.heappush(self._ends, (until, serial))

    def _renew(self, now: float) -> None:
        """Each once: a law may tell a moment that is early by a rounding, and be asked again."""
        ended = []
        while self._ends and self._ends[0][0] <= now:
            ended.append(heapq.heappop(self._ends)[1])
        for serial in ended:
            found = self._here.get(serial)
            if found is not None:
                self._rank(found[1], now)
