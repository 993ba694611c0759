"""Windows of several workers become the run's: added bucket by bucket, so nothing is averaged."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from measurement.window import RETENTION, Window


class WindowMerge:
    """Takes each worker's windows and gives out the merged ones that changed.

    A window is given out once every worker that is still heard has told its own: before, its
    counts would be one worker's. Its revision is the sum of theirs, so it rises with each.
    """

    def __init__(self, workers: int) -> None:
        self._told: list[dict[int, Window]] = [{} for _ in range(workers)]
        self._heard = set(range(workers))
        self._waiting: set[int] = set()

    def take(self, worker: int, windows: Iterable[Window]) -> None:
        """One worker's new windows and revisions."""
        for window in windows:
            self._told[worker][window.index] = window
            self._waiting.add(window.index)

    def ended(self, worker: int) -> None:
        """It will tell no more windows; the others' stand without it from here on."""
        self._heard.discard(worker)

    def changed(self) -> list[Window]:
        """What changed since the last call and is whole, in order."""
        ready = sorted(index for index in self._waiting if self._whole(index))
        self._waiting.difference_update(ready)
        merged = [self._merged(index) for index in ready]
        self._forget()
        return merged

    def _whole(self, index: int) -> bool:
        return all(index in self._told[worker] for worker in self._heard)

    def _merged(self, index: int) -> Window:
        return reduce(Window.merge, [told[index] for told in self._told if index in told])

    def _forget(self) -> None:
        """Let go of what no fold revises any more, so that memory does not grow with the run."""
        newest = max((told[max(told)].end for told in self._told if told), default=0.0)
        for told in self._told:
            old = [i for i, w in told.items() if w.final and w.end < newest - 2 * RETENTION]
            for index in old:
                del told[index]
