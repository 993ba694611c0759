"""A gate's outcome: the run's own verdict and its thresholds, invalid before all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from measurement.objective_verdict import FAIL, INCONCLUSIVE, INVALID, PASS
from measurement.threshold_verdict import ThresholdVerdict
from measurement.verdict import EXIT_CODES

_ORDER = (FAIL, INCONCLUSIVE, PASS)


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """``outcome`` is a word of the exit codes: a verdict, or why there is none."""

    outcome: str
    because: str

    @property
    def exit_code(self) -> int:
        """What a command that waited for it ends with."""
        return EXIT_CODES[self.outcome]


def combine(
    judgement: Mapping[str, Any], thresholds: Iterable[ThresholdVerdict], *, silent: bool = False
) -> GateVerdict:
    """``judgement`` is the run's verdict as JSON; ``silent`` means that nothing succeeded."""
    own, because = str(judgement["outcome"]), str(judgement["because"])
    if own == INVALID:
        return GateVerdict(INVALID, because)
    judged = tuple(thresholds)
    objectives = judgement.get("label") != "no objectives"
    words = [own] * objectives + [one.outcome for one in judged]
    outcome = next((word for word in _ORDER if word in words), own)
    if outcome == PASS and silent:
        return GateVerdict("infrastructure", "No request succeeded, so that nothing was judged.")
    if objectives and own == outcome:
        return GateVerdict(outcome, _and_thresholds(because, outcome, judged))
    first = next((one for one in judged if one.outcome == outcome), None)
    return GateVerdict(outcome, because if first is None else f"{first.label}: {first.because}")


def _and_thresholds(because: str, outcome: str, judged: tuple[ThresholdVerdict, ...]) -> str:
    """What is said of the objectives, and how many thresholds came to the same."""
    if outcome != PASS or not judged:
        return because
    n = len(judged)
    held = "The one threshold holds too." if n == 1 else f"All {n} thresholds hold too."
    return f"{because} {held}"
