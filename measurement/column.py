"""One column of numbers in a file, so that it takes no memory while nobody reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

Shelf = Callable[[], BinaryIO]
"""Gives an empty file to write to and read from; whoever hands it in closes what it gave."""


class Column:
    """Numbers of one kind, in the order in which they were added."""

    def __init__(self, dtype: np.dtype[Any], file: BinaryIO) -> None:
        self.dtype = dtype
        self._file = file
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, values: NDArray[Any]) -> None:
        """Put them at the end."""
        self._file.seek(self._length * self.dtype.itemsize)
        self._file.write(np.ascontiguousarray(values, self.dtype).data)
        self._length += len(values)

    def read(self, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Those from one place up to another."""
        stop = self._length if stop is None else stop
        self._file.seek(start * self.dtype.itemsize)
        return np.frombuffer(self._file.read((stop - start) * self.dtype.itemsize), self.dtype)

    def rewrite(self, values: NDArray[Any]) -> None:
        """Put these in the place of all that there were, which are no fewer."""
        self._length = 0
        self.add(values)
