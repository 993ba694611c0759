"""What a comparison came to: the stored verdict, what each arm measured, and what to mind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loadtest.ab.order import Order, Where
from measurement.cohort import Cohort
from measurement.comparison.assignment import Arm
from measurement.comparison.power import Power
from measurement.comparison.stored import store
from measurement.comparison.verdict import ComparisonVerdict, Evidence
from measurement.live import percentiles_ms
from measurement.verdict import EXIT_CODES

FINISHED, CANCELLED = "finished", "cancelled"
VERSION = 1


@dataclass(frozen=True)
class Result:
    """``status`` is finished for every comparison that came to its end or to a decision."""

    order: Order
    status: str
    evidence: Evidence
    verdict: ComparisonVerdict
    power: tuple[Power, ...]
    totals: Mapping[Arm, Cohort]
    lateness: Mapping[Arm, Mapping[str, Any]]
    model: Mapping[str, Any]
    prompt_salt: str
    client_version: str
    notes: tuple[str, ...] = field(default=())

    @property
    def exit_code(self) -> int:
        """What a command that ends with this exits with."""
        return EXIT_CODES["cancelled"] if self.status == CANCELLED else self.verdict.exit_code

    @property
    def stored(self) -> dict[str, Any]:
        """Plan, evidence and verdict: ``measurement.comparison.stored.recompute`` makes it anew."""
        return store(self.order.plan, self.evidence)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "version": VERSION,
            "status": self.status,
            "where": str(self.order.where),
            "model": dict(self.model) or None,
            "notes": list(self.notes),
            "exit_code": self.exit_code,
            "order": self.order.to_document(),
            "order_sha256": self.order.sha256,
            "prompt_salt": self.prompt_salt,
            "client_version": self.client_version,
            "power": [one.to_json() for one in self.power],
            "arms": {str(arm): arm_json(self.totals[arm]) for arm in Arm},
            "client": {str(arm): dict(self.lateness[arm]) for arm in Arm},
            "stored": self.stored,
        }


def arm_json(cohort: Cohort) -> dict[str, Any]:
    """One arm in numbers: attainment, what failed, and percentiles in ms."""
    failed = sum(n for outcome, n in cohort.outcomes.items() if not outcome.success)
    return {
        "offered": cohort.offered,
        "judged": cohort.judged,
        "met": cohort.met,
        "attainment": cohort.attainment,
        "failed": failed,
        "output_tokens": cohort.output_tokens,
        "ttft_ms": percentiles_ms(cohort.ttft),
        "tpot_ms": percentiles_ms(cohort.tpot),
        "e2e_ms": percentiles_ms(cohort.e2e),
    }


def notes_of(order: Order, model: Mapping[str, Any], longest: float | None) -> tuple[str, ...]:
    """Sentences that a reader must not miss."""
    notes = []
    if model:
        what = "of the engine model" if order.where is Where.MODEL else "of simulated engines"
        notes.append(
            f"These numbers are {what}, profile {model['profile']}, which stands for "
            f"{model['stands_for']}. Its stated error: {model['error']}"
        )
    if longest is not None:
        notes.append(
            f"Answers took up to {longest:.2g} s (P99), longer than the washout of "
            f"{order.washout_s:.2g} s: what one policy let in still ran when the other one was "
            "being counted, so the gap is told as smaller than it is. Give longer slots and a "
            "longer washout."
        )
    return tuple(notes)
