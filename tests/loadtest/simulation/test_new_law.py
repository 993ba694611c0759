"""The laws that docs/policies.md shows work as one file each, with nothing else edited."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from documents.problem import DocumentError
from measurement.outcome import Outcome
from schedulers.decision import DecisionPoint
from schedulers.document import Policy
from schedulers.points import REGISTRIES
from simulator.plants import deadlines
from tests.loadtest.simulation.policies import play, policy

PAGE = Path(__file__).parents[3] / "docs" / "policies.md"
SHOWN = re.compile(r"`schedulers/(\w+)/(\w+)\.py`.*?```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The laws that the page shows, by decision point, registered from files elsewhere."""
    found = {}
    section = PAGE.read_text("utf-8").split("\n## Adding a law\n")[1]
    for point, name, text in SHOWN.findall(section):
        REGISTRIES[DecisionPoint(point)].all()
        file = tmp_path / f"{name}.py"
        file.write_text(text, "utf-8")
        spec = spec_from_file_location(f"shown_{name}", file)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[spec.name] = module_from_spec(spec)
        spec.loader.exec_module(module)
        found[point] = name
    yield found
    for point, name in found.items():
        del REGISTRIES[DecisionPoint(point)]._classes[name]
        del sys.modules[f"shown_{name}"]


def test_a_law_of_one_file_is_a_documents_a_simulations_and_a_plants(
    shown: dict[str, str], tmp_path: Path
) -> None:
    assert shown == {"ordering": "short_prompts", "admission": "few_tokens"}
    laws: dict[str, Any] = {point: {"law": name} for point, name in shown.items()}
    with pytest.raises(DocumentError, match=r"ordering\.step"):
        Policy.parse(policy(**laws | {"ordering": {"law": "short_prompts", "step": 0}}))

    work = {
        "kind": "synthetic",
        "prompt_tokens_mean": 500,
        "prompt_tokens_sigma": 1.0,
        "output_tokens_mean": 20,
    }
    runs = tmp_path / "runs"
    runs.mkdir()
    run = play(
        runs, laws | {"concurrency": {"law": "fixed", "limit": 1}}, workload=work, duration_s=10
    )
    outcomes = {each.outcome for each in run.samples}
    assert {Outcome.SHED, Outcome.TRUNCATED} <= outcomes
    assert {each["law"] for each in run.lines("admission")} >= {"few_tokens"}
    assert {each["law"] for each in run.lines("ordering")} == {"short_prompts"}

    law: Any = Policy.parse(policy(**laws)).law("ordering")
    assert deadlines.play(law, 0.5, 1, requests=300).attained > 0.5
