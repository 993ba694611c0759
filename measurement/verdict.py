"""The verdict of a run: pass, fail, inconclusive or invalid, and the sentence that says why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from measurement.because import because, left_out, reasons_of
from measurement.columns import SampleColumns
from measurement.judgements import Judgements
from measurement.objective_verdict import (
    FAIL,
    INCONCLUSIVE,
    INVALID,
    PASS,
    ObjectiveVerdict,
    judge_share,
)
from measurement.proportion import Share
from measurement.slo import Slo
from measurement.tally import Tally
from measurement.validity import Validity
from measurement.window import Window

EXIT_CODES = {
    PASS: 0,
    FAIL: 10,
    "regression": 11,
    INCONCLUSIVE: 12,
    INVALID: 13,
    "bad_configuration": 20,
    "not_authorised": 21,
    "target_not_allowed": 22,
    "infrastructure": 30,
    "cancelled": 130,
}
"""What a command that ends with this word exits with."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``lower`` and ``upper`` are the one-sided 95 % bounds of the joint attainment."""

    outcome: str
    because: str
    reasons: tuple[str, ...] = ()
    objectives: tuple[ObjectiveVerdict, ...] = ()
    label: str = ""
    """"no objectives" for a run that had no SLO."""
    attainment: float | None = None
    lower: float | None = None
    upper: float | None = None
    target: float | None = None
    n: int = 0
    effective_n: float = 0.0
    excluded: int = 0
    pending: int = 0
    needed: int | None = None
    warnings: tuple[str, ...] = field(default=())

    @property
    def exit_code(self) -> int:
        """What a command that ends with this verdict exits with."""
        return EXIT_CODES[self.outcome]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "outcome": self.outcome,
            "because": self.because,
            "reasons": list(self.reasons),
            "label": self.label,
            "objectives": [objective.to_json() for objective in self.objectives],
            "attainment": self.attainment,
            "lower": self.lower,
            "upper": self.upper,
            "target": self.target,
            "n": self.n,
            "effective_n": round(self.effective_n, 1),
            "excluded": self.excluded,
            "pending": self.pending,
            "needed": self.needed,
            "warnings": list(self.warnings),
            "exit_code": self.exit_code,
        }


def judge_samples(
    columns: SampleColumns, slo: Slo | None, validity: Validity | None = None
) -> Verdict:
    """The verdict on the requests of the part that counts, warm-up already cut."""
    return judge(Judgements.of(columns, slo).tally(), slo, validity)


def judge_windows(
    windows: Iterable[Window],
    slo: Slo | None,
    validity: Validity | None = None,
    *,
    since: float = 0.0,
) -> Verdict:
    """The verdict so far on windows that were folded under this SLO."""
    return judge(Tally.of_windows(windows, since=since), slo, validity)


def judge(tally: Tally, slo: Slo | None, validity: Validity | None = None) -> Verdict:
    """The rule of docs/metrics.md: invalid before all; then every objective, and the joint."""
    validity = validity or Validity()
    joint = tally.joint
    rows = () if slo is None else _rows(tally, slo)
    outcome = _outcome(rows, joint, validity)
    decisive = tuple(row for row in rows if row.outcome == outcome)
    unclear = [row.needed for row in rows if row.outcome == INCONCLUSIVE]
    return Verdict(
        outcome=outcome,
        because=because(outcome, decisive, tally, validity),
        reasons=validity.reasons or _reasons(outcome, decisive, tally),
        objectives=rows,
        label="no objectives" if slo is None else "",
        attainment=joint.value,
        lower=joint.lower() if joint.n else None,
        upper=joint.upper() if joint.n else None,
        target=slo.target if slo is not None else None,
        n=joint.n,
        effective_n=joint.effective_n,
        excluded=tally.excluded,
        pending=tally.pending,
        needed=_most(unclear) if joint.n or rows else None,
        warnings=(*validity.warnings, *left_out(tally)),
    )


def _rows(tally: Tally, slo: Slo) -> tuple[ObjectiveVerdict, ...]:
    """The joint first, then each objective in the document's order."""
    joint = judge_share("joint", "every objective", slo.target, tally.joint, tally.joint.n)
    own = (
        judge_share(
            objective.metric,
            objective.label,
            slo.target_of(objective),
            tally.objective(objective.metric),
            tally.measured(objective.metric),
        )
        for objective in slo.objectives
    )
    return (joint, *own)


def _outcome(rows: tuple[ObjectiveVerdict, ...], joint: Share, validity: Validity) -> str:
    """One failure fails; a pass needs every row's; without objectives it needs one success."""
    if not validity.valid:
        return INVALID
    if not rows:
        return PASS if joint.k else FAIL if joint.n else INCONCLUSIVE
    outcomes = {row.outcome for row in rows}
    return FAIL if FAIL in outcomes else INCONCLUSIVE if INCONCLUSIVE in outcomes else PASS


def _reasons(outcome: str, decisive: tuple[ObjectiveVerdict, ...], tally: Tally) -> tuple[str, ...]:
    """Every row that stands in the way of a pass, in a sentence."""
    return () if outcome == PASS else reasons_of(decisive, tally)


def _most(needed: list[int | None]) -> int | None:
    """What the hungriest row needs: 0 when all are decided, None when one can't be."""
    known = [n for n in needed if n is not None]
    return max(known, default=0) if len(known) == len(needed) else None
