"""Token totals, where they came from, and what to say when two sources disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from measurement.column_block import SOURCE_CODE, SOURCES, Block, Bools, Floats
from measurement.columns import SampleColumns
from measurement.outcome import TokenSource

DISAGREEMENT = 0.02


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the requests asked with and what they got. None where nobody said."""

    prompt: int | None = None
    output: int | None = None
    """Tokens received, those of requests that failed later included."""
    sources: Mapping[str, int] = field(default_factory=dict)
    """Requests by the source of their output count."""
    note: str = ""

    @property
    def source(self) -> str | None:
        """The one source of all counts; "mixed" of several."""
        return "mixed" if len(self.sources) > 1 else next(iter(self.sources), None)

    @classmethod
    def of(cls, columns: SampleColumns) -> Tokens:
        """The totals of these requests."""
        return cls(
            prompt=_sum(columns, lambda block: block.prompt_tokens),
            output=_sum(columns, lambda block: block.output_tokens),
            sources={
                str(SOURCES[code]): n
                for code, n in counted(columns, lambda block: block.token_source).items()
                if SOURCES[code] is not None
            },
            note=_note(columns),
        )


def counted(columns: SampleColumns, of: Callable[[Block], NDArray[np.uint8]]) -> dict[int, int]:
    """How often each code is there, in order of its first appearance."""
    found: Counter[int] = Counter()
    for block in columns.blocks():
        codes, firsts, counts = np.unique(of(block), return_index=True, return_counts=True)
        for place in np.argsort(firsts).tolist():
            found[int(codes[place])] += int(counts[place])
    return dict(found)


def _sum(columns: SampleColumns, of: Callable[[Block], Floats]) -> int | None:
    if not columns.count(lambda block: ~np.isnan(of(block))):
        return None
    return columns.count(lambda block: np.nan_to_num(of(block)))


def _note(columns: SampleColumns) -> str:
    """A sentence when the stream's own count is over 2 % from the count that is reported.

    Chunks are the stream's count where it does not say more; tokens that share a chunk show here.
    """
    reported = columns.count(lambda b: np.nan_to_num(b.output_tokens[_told(b)]))
    streamed = columns.count(lambda b: b.streamed_tokens[_told(b)])
    if not reported or abs(streamed - reported) <= DISAGREEMENT * reported:
        return ""
    silent = columns.count(lambda b: _told(b) & ~b.told)
    other = "chunks" if silent else "continuous usage"
    names = _names(columns)
    return (
        f"Token sources disagree: {reported:,} tokens by {names}, {streamed:,} by {other} "
        f"({100 * (streamed - reported) / reported:+.1f} %); the first is used."
    )


def _told(block: Block) -> Bools:
    """Those whose count comes from more than their chunks, and which have some."""
    less: Bools = np.isin(block.token_source, [SOURCE_CODE[None], SOURCE_CODE[TokenSource.CHUNKS]])
    some: Bools = block.chunks != 0
    return ~less & some


def _names(columns: SampleColumns) -> str:
    found = counted(columns, lambda block: block.token_source[_told(block)])
    names = sorted(str(SOURCES[code]) for code in found)
    return " and ".join(name.replace("_", " ") for name in names)
