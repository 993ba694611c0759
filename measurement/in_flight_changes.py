"""The steps of the count in flight within one window, in little memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_MOST_STEPS = 2**32 - 1


class Changes:
    """Steps of the count in flight, exactly as reported: 9 bytes each, and 5 once packed."""

    __slots__ = ("_at", "_delta", "_first", "_packed")

    def __init__(self) -> None:
        self._at = array("d")
        self._delta = array("b")
        self._first = 0
        self._packed: Array | None = None

    def add(self, at: float, delta: int) -> None:
        """The count changed by ``delta``; in any order of time."""
        if self._packed is not None:
            self._unpack()
        self._at.append(at)
        try:
            self._delta.append(delta)
        except OverflowError:  # many at once
            self._delta = array("q", self._delta)
            self._delta.append(delta)

    def __bool__(self) -> bool:
        return bool(self._delta)

    def __iter__(self) -> Iterator[tuple[float, int]]:
        """In order of time; those of one instant in the order in which they were added."""
        if self._packed is not None:
            return zip(self._times().tolist(), self._delta, strict=True)
        order = sorted(range(len(self._at)), key=self._at.__getitem__)
        return ((self._at[place], self._delta[place]) for place in order)

    @property
    def total(self) -> int:
        """All of them together."""
        return sum(self._delta)

    @property
    def size(self) -> int:
        """Bytes of the steps themselves."""
        steps = 0 if self._packed is None else self._packed.nbytes
        return steps + self._at.itemsize * len(self._at) + self._delta.itemsize * len(self._delta)

    def pack(self) -> None:
        """Put them in order of time, and keep of each time its distance from the one before it.

        The distance is counted in steps between neighbouring doubles, so nothing is rounded.
        """
        if self._packed is not None or not self._at:
            return
        at = np.frombuffer(self._at, dtype=np.float64)
        order = np.argsort(at, kind="stable")
        places = at[order].view(np.int64)
        steps = np.diff(places)
        if places[0] < 0 or steps.max(initial=0) > _MOST_STEPS:  # before 0, or too far apart
            return
        self._first, self._packed = int(places[0]), steps.astype(np.uint32)
        self._delta = array(self._delta.typecode, [self._delta[place] for place in order.tolist()])
        self._at = array("d")

    def _times(self) -> Array:
        steps = self._packed if self._packed is not None else np.zeros(0)
        places = np.cumsum(np.concatenate(([self._first], steps.astype(np.int64))))
        return places.view(np.float64)

    def _unpack(self) -> None:
        self._at = array("d", self._times().tobytes())
        self._packed = None
