"""A paired replay: both arms are asked the same, so each request is compared with its own twin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measurement.column_block import Block, Floats, Ints
from measurement.columns import SampleColumns

_SAME_TIME = 1e-6


class UnequalStimulus(ValueError):  # noqa: N818 - reads as what happened
    """The arms were not asked the same; carries every kind of difference that was found."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__(" ".join(self.reasons))


@dataclass(frozen=True)
class Pairs:
    """Scheduled requests in order of index, and the row of each in either arm's columns."""

    index: Ints
    baseline: Ints
    candidate: Ints

    def __len__(self) -> int:
        return len(self.index)


def pair(baseline: SampleColumns, candidate: SampleColumns, *, shift: float = 0.0) -> Pairs:
    """Twins by schedule index, in order; UnequalStimulus where they are none.

    ``shift`` is how much later the candidate's schedule began, in seconds. What became of the
    requests may differ as it likes: what a policy sheds is its result, not a fault.
    """
    a, b = (columns.values(lambda block: block.index) for columns in (baseline, candidate))
    reasons = [*_double(a, "baseline"), *_double(b, "candidate"), *_unmatched(a, b)]
    index, *rows = np.intersect1d(a, b, return_indices=True)
    pairs = Pairs(index.astype(np.int64), *rows)
    reasons += _different(pairs, baseline, candidate, shift)
    if reasons:
        raise UnequalStimulus(reasons)
    return pairs


def _double(index: Floats, arm: str) -> Iterator[str]:
    double = len(index) - len(np.unique(index))
    if double:
        yield f"{double:,} of the {arm}'s requests have more than one sample."


def _unmatched(a: Floats, b: Floats) -> Iterator[str]:
    for mine, theirs, arm, other in (
        (a, b, "baseline", "candidate"),
        (b, a, "candidate", "baseline"),
    ):
        alone = np.setdiff1d(mine, theirs)
        if len(alone):
            yield (
                f"{len(alone):,} requests of the {arm}'s schedule were never the {other}'s, the "
                f"first with index {int(alone[0])}."
            )


def _different(
    pairs: Pairs, baseline: SampleColumns, candidate: SampleColumns, shift: float
) -> Iterator[str]:
    def both(of: Callable[[Block], NDArray[Any]]) -> tuple[Floats, Floats]:
        return baseline.values(of)[pairs.baseline], candidate.values(of)[pairs.candidate]

    starts = both(lambda block: block.intended_at)
    moved = np.abs(starts[1] - starts[0] - shift) > _SAME_TIME
    lengths = both(lambda block: block.prompt_tokens)
    longer = np.abs(lengths[1] - lengths[0]) > 0  # none where one arm does not know it
    codes = {name: code for code, name in enumerate(baseline.tenants)}
    same = [codes.get(name, -1) for name in candidate.tenants]
    tenants = both(lambda block: block.tenant)
    elsewhere = np.array(same, np.int64)[tenants[1].astype(np.int64)] != tenants[0]
    for differs, what in (
        (moved, "another time"),
        (longer, "another prompt length"),
        (elsewhere, "another tenant"),
    ):
        found = pairs.index[differs]
        if len(found):
            yield f"{len(found):,} requests had {what} in each arm, first index {found[0]}."
