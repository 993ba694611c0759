"""A paired replay: both arms are asked the same, so each request is compared with its own twin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from measurement.sample import Sample

_SAME_TIME = 1e-6


class UnequalStimulus(ValueError):  # noqa: N818 - reads as what happened
    """The arms were not asked the same; carries every kind of difference that was found."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__(" ".join(self.reasons))


@dataclass(frozen=True, slots=True)
class Pair:
    """One scheduled request and what each arm made of it."""

    index: int
    baseline: Sample
    candidate: Sample


def pair(
    baseline: Iterable[Sample], candidate: Iterable[Sample], *, shift: float = 0.0
) -> tuple[Pair, ...]:
    """Twins by schedule index, in order; UnequalStimulus where they are none.

    ``shift`` is how much later the candidate's schedule began, in seconds. What became of the
    requests may differ as it likes: what a policy sheds is its result, not a fault.
    """
    a, reasons_a = _by_index(baseline, "baseline")
    b, reasons_b = _by_index(candidate, "candidate")
    reasons = [*reasons_a, *reasons_b, *_unmatched(a, b)]
    pairs = tuple(Pair(index, a[index], b[index]) for index in sorted(a.keys() & b.keys()))
    reasons += _different(pairs, shift)
    if reasons:
        raise UnequalStimulus(reasons)
    return pairs


def _by_index(samples: Iterable[Sample], arm: str) -> tuple[dict[int, Sample], list[str]]:
    found: dict[int, Sample] = {}
    double = 0
    for sample in samples:
        double += sample.index in found
        found[sample.index] = sample
    reason = f"{double:,} of the {arm}'s requests have more than one sample."
    return found, [reason] if double else []


def _unmatched(a: dict[int, Sample], b: dict[int, Sample]) -> Iterator[str]:
    for mine, theirs, arm, other in (
        (a, b, "baseline", "candidate"),
        (b, a, "candidate", "baseline"),
    ):
        alone = sorted(mine.keys() - theirs.keys())
        if alone:
            yield (
                f"{len(alone):,} requests of the {arm}'s schedule were never the {other}'s, the "
                f"first with index {alone[0]}."
            )


def _different(pairs: tuple[Pair, ...], shift: float) -> Iterator[str]:
    def moved(p: Pair) -> bool:
        late = p.candidate.intended_at - p.baseline.intended_at
        return abs(late - shift) > _SAME_TIME

    def longer(p: Pair) -> bool:
        lengths = {p.baseline.prompt_tokens, p.candidate.prompt_tokens} - {None}
        return len(lengths) > 1

    def elsewhere(p: Pair) -> bool:
        return p.baseline.tenant != p.candidate.tenant

    for differs, what in (
        (moved, "another time"),
        (longer, "another prompt length"),
        (elsewhere, "another tenant"),
    ):
        found = [p.index for p in pairs if differs(p)]
        if found:
            yield f"{len(found):,} requests had {what} in each arm, first index {found[0]}."
