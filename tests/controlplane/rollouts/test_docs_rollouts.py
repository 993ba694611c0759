"""What docs/rollouts.md says is what there is: every field of a stage, and its own plan."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controlplane.rollouts.machine import Phase
from controlplane.rollouts.plan import RolloutPlan
from controlplane.rollouts.stage_documents import STAGES
from documents.fields import describe
from documents.yaml_text import parse_yaml

DOCS = Path("docs/rollouts.md").read_text()
SHARED = {"approvals", "role", "deadline_s"}


@pytest.mark.parametrize("kind", STAGES)
def test_every_field_of_a_stage_has_its_row(kind: str) -> None:
    rows = {name: row for row in DOCS.splitlines() for name in re.findall(r"`(\w+)`", row[:60])}
    for info in describe(STAGES[kind]):
        if info.name in SHARED:
            assert f"`{info.name}`" in DOCS
        else:
            assert kind in rows[info.name], info.name


def test_its_plan_can_be_parsed_and_every_state_is_told() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL)
    assert [stage.kind for stage in RolloutPlan.parse(parse_yaml(text)).stages] == list(STAGES)
    for phase in Phase:
        assert f"| {phase.value.replace('_', ' ')} |" in DOCS
