"""Where a run's columns are put while it is concluded: a little in memory, the rest on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from measurement.column import Shelf
from measurement.column_builder import columns_of
from measurement.columns import SampleColumns
from measurement.sample import Sample

IN_MEMORY = 1 << 18
"""Bytes of one column that need no file: 32,768 numbers."""


@contextmanager
def column_files(beside: Path | None = None) -> Iterator[Shelf]:
    """Files without a name in that directory, or where temporary files go; gone at the end.

    A run's directory is on a disk; where temporary files go is memory on some machines.
    """
    with ExitStack() as opened:

        def shelf() -> BinaryIO:
            file = SpooledTemporaryFile(IN_MEMORY, dir=None if beside is None else str(beside))  # noqa: SIM115 - closed below
            return cast("BinaryIO", opened.enter_context(file))

        yield shelf


@contextmanager
def in_columns(samples: Iterable[Sample], beside: Path | None = None) -> Iterator[SampleColumns]:
    """The columns of these samples, until the end of the block."""
    with column_files(beside) as shelf:
        yield columns_of(samples, shelf)
