"""Conclusions that were computed a sample at a time, before there were columns: none has moved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadtest.column_files import in_columns
from loadtest.conclusion import FINISHED, Seen, conclude
from loadtest.facts import Facts
from loadtest.scenario import Scenario
from measurement.histogram import Histogram
from measurement.sample import Sample

GOLDEN = sorted((Path(__file__).parent / "golden").iterdir())


def close(found: Any, expected: Any) -> None:
    """All the same, but for what another processor may round otherwise."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for name in expected:
            close(found[name], expected[name])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            close(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-12)
    else:
        assert found == expected


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_conclusion_is_what_it_was(path: Path, tmp_path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    samples = msgspec.convert(case["samples"], list[Sample])
    due = len(samples)
    seen = Seen((), case["stopped_at"], loop_lag=Histogram.of([0.001] * 50), due=due)
    facts = Facts(1.7e9, "v", due, "s")
    with in_columns(samples, tmp_path) as columns:
        found = conclude(columns, Scenario.parse(case["scenario"]), facts, seen, FINISHED)
    made = {
        "summary": found.summary.to_json(),
        "verdict": found.verdict.to_json(),
        "validity": found.validity.to_json(),
        "notes": list(found.notes),
        "first_errors": dict(found.first_errors),
        "retried": dict(found.retried),
    }
    made["validity"]["numbers"].pop("late_windows", None)  # told since
    close(json.loads(json.dumps(made)), case["expected"])
    assert not list(tmp_path.iterdir()), "the columns' files have no name, and are gone"
