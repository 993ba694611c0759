"""Side by side: each tenant and length of prompt, ratios, and never of two stimuli."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from documents.problem import DocumentError
from headway.comparing.groups import more
from loadtest.recorder import SAMPLES, SCENARIO
from loadtest.same_stimulus import Finished, check
from measurement.column_builder import columns_of
from measurement.sample import Sample
from measurement.side_by_side import side_by_side
from measurement.summary import summarise
from tests.loadtest.test_scenario import document
from tests.measurement.builders import answered, slo

DURATION = 40.0


def samples(scale: float, n: int = 800) -> list[Sample]:
    rng = np.random.default_rng(3)
    rows = []
    for index, at in enumerate(np.sort(rng.uniform(0, DURATION, n)).tolist()):
        first = scale * float(rng.lognormal(-2, 0.4))
        times = {"first_token_at": at + first, "last_token_at": at + first + 0.4}
        tenant = "acme" if index % 2 else "globex"
        done = {"done_at": at + first + 0.4, "tenant": tenant}
        rows.append(answered(index, at, **times, **done, prompt_tokens=100 + index))
    return rows


def run(path: Path, scale: float, summary: dict[str, Any] | None = None, **changes: Any) -> Path:
    """A finished run's directory."""
    rows = samples(scale)
    path.mkdir()
    (path / SCENARIO).write_text(json.dumps(document(**changes)))
    found = summarise(columns_of(rows), slo=slo(), duration=DURATION).to_json()
    found |= {"status": "finished", "verdict": "pass", **(summary or {})}
    (path / "summary.json").write_text(json.dumps(found))
    lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    (path / SAMPLES).write_bytes(lines)
    return path


def test_two_runs_stand_side_by_side_with_what_cannot_be_concluded(tmp_path: Path) -> None:
    beside = more(run(tmp_path / "a", 1.0), run(tmp_path / "b", 2.0, seed=9))
    assert beside is not None
    found = beside.to_json()
    assert found["label"] == "description, no verdict"
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["TTFT P95"]["relative"] == pytest.approx(1.0)
    assert found["ratios"]["TTFT P95"]["low"] < 2 < found["ratios"]["TTFT P95"]["high"]
    assert {group["name"] for group in found["tenants"]} == {"acme", "globex"}
    assert [group["name"] for group in found["bands"]] == ["1 to 256 tokens", "257 to 1,024 tokens"]
    said = beside.text().replace("\n  ", " ")
    assert "No verdict can be drawn" in said
    assert "tenant acme" in said
    assert "seeds differ" in said
    again = more(tmp_path / "a", tmp_path / "b")
    assert again is not None
    assert again.text() == beside.text()


@pytest.mark.parametrize(
    ("changes", "summary", "word"),
    [
        ({"arrivals": {"process": "poisson", "rate": 30}}, None, "arrivals"),
        ({"workload": {"kind": "fixed"}}, None, "workload"),
        ({"duration_s": 50}, None, "duration_s"),
        ({}, {"status": "cancelled"}, "was not finished"),
        (
            {},
            {"verdict": "invalid", "judgement": {"because": "late"}},
            "can't be compared; choose a valid run. late",
        ),
    ],
)
def test_unequal_stimulus_is_refused_by_name(
    changes: dict[str, Any], summary: dict[str, Any] | None, word: str, tmp_path: Path
) -> None:
    a, b = run(tmp_path / "a", 1.0), run(tmp_path / "b", 1.0, summary, **changes)
    with pytest.raises(DocumentError, match=word):
        more(a, b)


def test_without_a_report_there_is_nothing_more(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", 1.0), run(tmp_path / "b", 1.0)
    (b / "summary.json").unlink()
    assert more(a, b) is None


def test_a_closed_loop_must_have_come_to_the_same_load() -> None:
    scenario = document(arrivals={"process": "closed", "concurrency": 4})
    a = Finished("a", scenario, {"status": "finished", "offered_rate": 10.0})
    b = Finished("b", copy.deepcopy(scenario), {"status": "finished", "offered_rate": 10.4})
    assert check(a, b) == ()
    slower = Finished("b", scenario, {"status": "finished", "offered_rate": 8.0})
    with pytest.raises(ValueError, match="not equal"):
        check(a, slower)


def test_what_else_differs_is_told() -> None:
    scenario = document()
    other = document(slo=None, endpoint={**scenario["endpoint"], "base_url": "http://elsewhere"})
    a = Finished("a", scenario, {"status": "finished"})
    b = Finished("b", other, {"status": "finished", "cut": {"warm_up_s": 5.0}})
    told = " ".join(check(a, b))
    assert "SLOs differ" in told
    assert "endpoints differ" in told
    assert "0 s and 5 s" in told


def test_a_tenant_of_one_run_stands_beside_nothing() -> None:
    lone = summarise(columns_of([answered()]), slo=slo(), duration=1.0).to_json()
    found = side_by_side(lone, {})
    [group] = found.tenants
    assert group.rows[0].b.value is None
    assert group.rows[0].delta is None
    assert all(row.delta is None for row in found.rows)
