"""What docs/comparison.md says is what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from documents.yaml_text import parse_yaml
from measurement.comparison.criterion import PASS_MARGINS
from measurement.comparison.fixed_budget import bounds
from measurement.comparison.plan import ComparisonPlan

PAGE = (Path(__file__).parents[3] / "docs" / "comparison.md").read_text()


def test_the_plan_on_the_page_is_a_plan() -> None:
    found = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    plan = ComparisonPlan.parse(parse_yaml(found.group(1)))
    assert [criterion.name for criterion in plan.criteria] == [
        "attainment",
        "ttft_ms_p99",
        "errors",
    ]
    assert ComparisonPlan.parse(plan.to_document()) == plan


def test_the_margins_and_the_bounds_on_the_page_are_the_codes() -> None:
    for kind, margin in PASS_MARGINS.items():
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{kind}`"))
        noun = "point" if margin == 0.01 else "points"
        assert row.endswith(f"| {100 * margin:g} {noun} |")
    assert "z = " + ", ".join(f"{z:.2f}" for z in bounds(0.025)) in PAGE


def test_the_table_on_the_page_has_every_bar_held() -> None:
    table = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert table is not None
    assert "4,000 runs a cell" in table.group(1)
    assert table.group(1).rstrip().endswith("Every bar is held.")
    assert " NO " not in table.group(1)
