"""The plan's document: read whole, told whole, named by one hash."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.rollouts.plan import RolloutPlan
from controlplane.rollouts.stage_documents import CanaryStage, FullStage, ShadowStage, deadline_s
from documents.problem import DocumentError
from tests.controlplane.rollouts.plans import CRITERIA, STAGES, plan

CANARY = {"stage": "canary", "criteria": CRITERIA}
FULL = {"stage": "full"}


def problems(given: object) -> dict[str, str]:
    with pytest.raises(DocumentError) as caught:
        RolloutPlan.parse(given)
    return {one.path: one.message for one in caught.value.problems}


def test_a_plan_survives_being_written_and_read_under_the_same_hash() -> None:
    read = RolloutPlan.parse(plan())
    again = RolloutPlan.parse(read.to_document())
    assert again == read
    assert again.sha256 == read.sha256
    assert [stage.kind for stage in read.stages] == [one["stage"] for one in STAGES]


def test_another_plan_has_another_hash() -> None:
    stages = [*STAGES[:-1], {"stage": "full", "bake_s": 21}]
    assert RolloutPlan.parse(plan(stages=stages)).sha256 != RolloutPlan.parse(plan()).sha256


@pytest.mark.parametrize(
    ("stages", "path", "words"),
    [
        ([], "spec.stages", "must be a list of stages"),
        ([FULL, CANARY], "spec.stages", "must come in the order"),
        ([CANARY], "spec.stages", "must end in full"),
        ([FULL], "spec.stages", "must hold canary"),
        ([CANARY, FULL, FULL], "spec.stages", "must hold full once"),
        ([CANARY, CANARY, FULL], "spec.stages", "grow in weight"),
        ([CANARY | {"approvals": 0}, FULL], "spec.stages.0.approvals", "second person"),
        ([{"stage": "prayer"}, FULL], "spec.stages.0.stage", "must be one of model"),
        ([CANARY | {"blocks": 19}, FULL], "spec.stages.0.blocks", "from 20"),
        ([CANARY | {"criteria": [{"kind": "luck"}]}, FULL], "spec.stages.0.criteria.0.kind", "one"),
        ([CANARY | {"role": "viewer"}, FULL], "spec.stages.0.role", "one of approver, admin"),
    ],
)
def test_a_fault_is_told_by_its_path(stages: list[Any], path: str, words: str) -> None:
    assert words in problems(plan(stages=stages))[path]


def test_every_fault_is_told_at_once() -> None:
    found = problems(plan(stages=[{"stage": "prayer"}], alpha=2, candidat="x"))
    assert {"spec.stages.0.stage", "spec.alpha", "spec.candidat"} <= set(found)


def test_the_model_needs_a_workload_and_a_canary_alone_does_not() -> None:
    assert "is required" in problems(plan(workload=None))["spec.workload"]
    assert RolloutPlan.parse(plan("canary", "full", workload=None)).workload is None


def test_canaries_are_told_apart_by_their_weight_where_there_are_several() -> None:
    one = RolloutPlan.parse(plan("canary", "full"))
    assert one.name_of(0) == "Canary"
    two = RolloutPlan.parse(plan(stages=[CANARY | {"weight": 0.1}, CANARY, FULL]))
    assert [two.name_of(index) for index in (0, 1, 2)] == ["Canary 10 %", "Canary 50 %", "Full"]


def test_alpha_is_shared_by_the_stages_that_can_call_harm() -> None:
    assert RolloutPlan.parse(plan()).comparing == 3
    assert RolloutPlan.parse(plan("shadow", "canary", "full")).comparing == 1


@given(bake=st.floats(1, 10_000), blocks=st.integers(20, 2_000))
def test_every_stage_has_a_deadline_after_what_it_plans(bake: float, blocks: int) -> None:
    for stage in (ShadowStage(bake_s=bake), CanaryStage(blocks=blocks), FullStage(bake_s=bake)):
        assert deadline_s(stage) > stage.planned_s
