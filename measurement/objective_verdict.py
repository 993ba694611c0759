"""One share against its target: what the bounds at the effective n allow to be said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from measurement.proportion import Share

PASS, FAIL, INCONCLUSIVE, INVALID = "pass", "fail", "inconclusive", "invalid"


@dataclass(frozen=True, slots=True)
class ObjectiveVerdict:
    """One objective, or the joint of all (``metric`` "joint"), against its own target."""

    metric: str
    label: str
    target: float
    outcome: str
    attainment: float | None
    lower: float
    upper: float
    n: int
    effective_n: float
    measured: int
    """Of how many the metric says something; the rest are successes without a value."""
    needed: int | None
    """How many more requests would decide it; 0 when decided, None when no number would."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "metric": self.metric,
            "label": self.label,
            "target": self.target,
            "outcome": self.outcome,
            "attainment": self.attainment,
            "lower": self.lower,
            "upper": self.upper,
            "n": self.n,
            "effective_n": round(self.effective_n, 1),
            "measured": self.measured,
            "needed": self.needed,
        }


def judge_share(
    metric: str, label: str, target: float, share: Share, measured: int
) -> ObjectiveVerdict:
    """Pass when the one-sided 95 % lower bound reaches the target, fail when the upper is under."""
    lower, upper = share.lower(), share.upper()
    outcome = INCONCLUSIVE
    if measured and lower >= target:
        outcome = PASS
    elif share.n and upper < target:
        outcome = FAIL
    return ObjectiveVerdict(
        metric=metric,
        label=label,
        target=target,
        outcome=outcome,
        attainment=share.value,
        lower=lower,
        upper=upper,
        n=share.n,
        effective_n=share.effective_n,
        measured=measured,
        needed=share.needed(target) if measured else None,
    )
