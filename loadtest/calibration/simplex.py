"""Nelder and Mead's downhill simplex: a minimum without derivatives (Computer Journal, 1965)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
_SHRINK, _CONTRACT, _EXPAND = 0.5, 0.5, 2.0


def minimise(
    loss: Callable[[Vector], float], start: Vector, *, step: float, evaluations: int
) -> tuple[Vector, float]:
    """The best point found within so many evaluations, and its loss. Deterministic."""
    return _Simplex(loss, start, step, evaluations).run()


class _Simplex:
    def __init__(
        self, loss: Callable[[Vector], float], start: Vector, step: float, evaluations: int
    ) -> None:
        self._loss = loss
        self._left = evaluations
        self._points = [start, *(start + step * each for each in np.eye(len(start)))]
        self._values = [self._at(point) for point in self._points]

    def run(self) -> tuple[Vector, float]:
        while self._left > 0:
            order = np.argsort(self._values, kind="stable")
            self._points = [self._points[place] for place in order]
            self._values = [self._values[place] for place in order]
            if self._values[-1] - self._values[0] < 1e-9:
                break
            self._move()
        best = int(np.argmin(self._values))
        return self._points[best], self._values[best]

    def _at(self, point: Vector) -> float:
        self._left -= 1
        return self._loss(point)

    def _move(self) -> None:
        """The worst point goes through the middle of the others, further, or not so far."""
        middle = np.mean(self._points[:-1], axis=0)
        away = middle - self._points[-1]
        reflected = middle + away
        value = self._at(reflected)
        if value < self._values[0]:
            further = middle + _EXPAND * away
            found = self._at(further)
            self._put(further, found) if found < value else self._put(reflected, value)
        elif value < self._values[-2]:
            self._put(reflected, value)
        else:
            self._contract(middle, reflected, value)

    def _contract(self, middle: Vector, reflected: Vector, value: float) -> None:
        if value < self._values[-1]:
            self._put(reflected, value)
        nearer = middle + _CONTRACT * (self._points[-1] - middle)
        found = self._at(nearer)
        if found < self._values[-1]:
            self._put(nearer, found)
            return
        best = self._points[0]
        self._points[1:] = [best + _SHRINK * (point - best) for point in self._points[1:]]
        self._values[1:] = [self._at(point) for point in self._points[1:]]

    def _put(self, point: Vector, value: float) -> None:
        self._points[-1], self._values[-1] = point, value
