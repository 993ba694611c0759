"""The plan's document."""

from __future__ import annotations

from typing import Any

import pytest

from documents.problem import DocumentError
from measurement.comparison.assignment import Arm
from measurement.comparison.plan import ComparisonPlan
from tests.measurement.comparison.builders import BASELINE, CANDIDATE, document, plan


def test_defaults_are_the_pages() -> None:
    live = plan()
    assert (live.floor_s, live.alpha, live.weight, live.budget) == (30.0, 0.05, 0.5, "sequential")
    assert plan(stimulus="replay").floor_s == 5.0
    assert plan(stimulus="replay", floor_s=2).floor_s == 2.0
    assert live.approved == {Arm.BASELINE: BASELINE, Arm.CANDIDATE: CANDIDATE}


def test_a_document_written_out_in_full_is_the_same_plan_with_the_same_hash() -> None:
    given = plan(
        {"kind": "errors"},
        {"kind": "exceedance", "metric": "ttft_ms", "threshold": 880, "source": "run 12"},
        budget="fixed",
        deadline_s=7200,
    )
    again = ComparisonPlan.parse(given.to_document())
    assert (again, again.sha256) == (given, given.sha256)
    assert plan(seed=8).sha256 != plan(seed=7).sha256
    assert plan().sha256 == plan({"kind": "attainment"}, alpha=0.05).sha256


def test_alpha_for_harm_is_shared_by_guardrails_and_stages() -> None:
    shared = plan(
        {"kind": "attainment"},
        {"kind": "errors"},
        {"kind": "exceedance", "metric": "e2e_ms", "threshold": 9000, "guardrail": False},
        stages=5,
    )
    assert shared.alpha_harm == pytest.approx(0.05 / 2 / 5)
    assert [criterion.name for criterion in shared.guardrails] == ["attainment", "errors"]


def test_the_scale_is_the_aa_runs_or_what_independent_requests_give() -> None:
    one = plan({"kind": "attainment", "scale": 0.04})
    assert one.scale(one.criteria[0]) == 0.04
    other = plan({"kind": "attainment", "base": 0.05})
    assert other.scale(other.criteria[0]) == pytest.approx((2 * 0.05 * 0.95 / 60) ** 0.5)
    nothing = plan({"kind": "errors", "base": 0})
    assert nothing.scale(nothing.criteria[0]) > 0


def test_slots_follow_from_what_the_baseline_was_measured_to_do() -> None:
    table = plan().timetable(washout=12, median_e2e=8, rate=2)
    assert (table.length, table.washout, table.seed) == (52, 12, 7)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"blocks": 19}, "blocks"),
        ({"budget": "fixed", "blocks": 32}, "blocks"),
        ({"weight": 0.6}, "weight"),
        ({"floor_s": 0.5}, "floor_s"),
        ({"alpha": 0.5}, "alpha"),
        ({"design": "shared"}, "design"),
        ({"criteria": []}, "criteria"),
        ({"criteria": "attainment"}, "spec.criteria"),
        ({"criteria": [{"kind": "attainment"}, {"kind": "attainment"}]}, "criteria.1"),
        ({"criteria": [{"kind": "none"}]}, "spec.criteria.0.kind"),
        ({"seed": -1}, "seed"),
        ({"bake_s": 100, "deadline_s": 50}, "deadline_s"),
        ({"sed": 1}, "sed"),
        ({"candidate": None}, "candidate"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused_with_the_fields_path(
    changes: dict[str, Any], path: str
) -> None:
    with pytest.raises(DocumentError) as error:
        ComparisonPlan.parse(document(**changes))
    assert path in [problem.path for problem in error.value.problems]


def test_every_fault_is_told_at_once() -> None:
    with pytest.raises(DocumentError) as error:
        plan({"kind": "none"}, weight=0.6)
    assert len(error.value.problems) == 2
    with pytest.raises(DocumentError, match="spec"):
        ComparisonPlan.parse({**document(), "spec": []})
