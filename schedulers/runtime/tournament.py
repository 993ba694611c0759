"""A tournament of rising ranks: who leads now, and until when nobody can have passed.

Ranks that rise steadily are lines over time, and two lines cross once at most. Each node of a
binary tree holds who leads below it and the moment until which that surely stands. Who comes or
leaves is played again on its way to the root alone, and as time passes only the nodes whose moment
has come (a kinetic tournament: Basch, Guibas and Hershberger, 1999).
"""

from __future__ import annotations

import math
from typing import Any

from schedulers.ordering.base import OrderingLaw, Rank, Waiting

_CLOSE = 1.0 + 2e-9
"""Ranks within this factor are compared as the law tells them, at each turn: lines are reckoned
here, and rounding must not decide otherwise than the law does."""
_NOBODY = -1


class Tournament:
    """Of one law and one state of it. Players have numbers, which are used again."""

    def __init__(self, law: OrderingLaw[Any], state: Any) -> None:
        self._law, self._state = law, state
        self._ones: list[Waiting] = []
        self._since: list[float] = []
        self._rate: list[float] = []
        """By how much a rank rises in a second."""
        self._numbers: dict[int, int] = {}
        """By serial."""
        self._free: list[int] = []
        self._size = 1
        """Leaves."""
        self._leads = [_NOBODY, _NOBODY]
        """By node: 1 is the root, the children of n are 2 n and 2 n + 1, leaves are the last."""
        self._until = [math.inf, math.inf]
        self._at = -math.inf

    def add(self, one: Waiting, now: float) -> None:
        """It waits."""
        rise = self._law.rise(one)
        if self._free:
            number = self._free.pop()
            self._ones[number] = one
            self._since[number], self._rate[number] = rise.since, 1.0 / rise.per
        else:
            number = len(self._ones)
            self._ones.append(one)
            self._since.append(rise.since)
            self._rate.append(1.0 / rise.per)
            if number == self._size:
                self._grow()
        self._numbers[one.request.serial] = number
        self._climb(number, now)

    def remove(self, serial: int) -> None:
        """It waits no more."""
        number = self._numbers.pop(serial)
        self._free.append(number)
        node = self._size + number
        self._leads[node] = _NOBODY
        until, node = self._until, node // 2
        while node and until[node] > -math.inf:
            until[node] = -math.inf
            node //= 2

    def first(self, now: float) -> tuple[Rank, Waiting]:
        """The lowest rank, and whose it is: of equals that of the lowest serial."""
        if now < self._at:  # moments were told for a clock that goes forward
            self._until[1 : self._size] = [-math.inf] * (self._size - 1)
        self._at = now
        if self._until[1] <= now:
            self._play(1, now)
        one = self._ones[self._leads[1]]
        return self._law.rank(self._state, one, now), one

    def _climb(self, number: int, now: float) -> None:
        """A newcomer plays its way up, as far as it leads; a node to be played anyway can wait."""
        leads, until = self._leads, self._until
        node = self._size + number
        leads[node] = number
        while (node := node // 2) and until[node] > -math.inf:
            left, right = 2 * node, 2 * node + 1
            if leads[left] == number or leads[right] == number:
                self._settle(node, now)
            else:
                until[node] = min(until[node], until[left], until[right])

    def _grow(self) -> None:
        leaves = self._leads[self._size :]
        self._size *= 2
        self._leads = [_NOBODY] * self._size + leaves + [_NOBODY] * len(leaves)
        self._until = [-math.inf] * self._size + [math.inf] * self._size

    def _play(self, node: int, now: float) -> None:
        """Whoever leads below a node whose moment has come."""
        until, left, right = self._until, 2 * node, 2 * node + 1
        if until[left] <= now:
            self._play(left, now)
        if until[right] <= now:
            self._play(right, now)
        self._settle(node, now)

    def _settle(self, node: int, now: float) -> None:
        """Who leads of the two that lead below."""
        leads, until, left = self._leads, self._until, 2 * node
        one, other = leads[left], leads[left + 1]
        stands, lasts = until[left], until[left + 1]
        stands = min(stands, lasts)
        if one < 0 or other < 0:
            leads[node], until[node] = max(one, other), stands
            return
        leads[node], lasts = self._match(one, other, now)
        until[node] = min(stands, lasts)

    def _match(self, one: int, other: int, now: float) -> tuple[int, float]:
        """Who of two leads, and until when that surely stands."""
        waited, others = now - self._since[one], now - self._since[other]
        if waited >= 0.0 and others >= 0.0:
            rate, rates = self._rate[one], self._rate[other]
            rank, ranks = waited * rate, others * rates
            if rank > ranks * _CLOSE:
                return one, _passed(now, rank - ranks * _CLOSE, rates * _CLOSE - rate)
            if ranks > rank * _CLOSE:
                return other, _passed(now, ranks - rank * _CLOSE, rate * _CLOSE - rates)
            if waited == others and rate == rates:
                return self._exactly(one, other, now), math.inf
        return self._exactly(one, other, now), now

    def _exactly(self, one: int, other: int, now: float) -> int:
        def key(number: int) -> tuple[Rank, int]:
            asked = self._ones[number]
            return self._law.rank(self._state, asked, now), asked.request.serial

        return one if key(one) < key(other) else other


def _passed(now: float, ahead: float, closing: float) -> float:
    """When a lead of so much is gone that shrinks by so much a second; sooner by the rounding."""
    return math.inf if closing <= 0.0 else math.nextafter(now + ahead / closing, -math.inf)
