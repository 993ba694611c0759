"""``headway compare``: two finished runs described, and never judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headway.__main__ import main
from loadtest import facts
from loadtest.facts import Facts
from loadtest.recorder import Recorder
from loadtest.scenario import Scenario
from tests.loadtest.ab.asked import SHORT, SLO, policy
from tests.measurement.builders import answered

SCENARIO = {
    "endpoint": {"base_url": "http://127.0.0.1:9", "model": "m"},
    "workload": SHORT,
    "arrivals": {"process": "constant", "rate": 10},
    "duration_s": 10,
    "slo": SLO,
}


def run_of(out: Path, *, limit: int, slow: float, shift: float = 0.0, last: int = 100) -> str:
    """A directory as a run leaves it: ten requests a second, each answered ``slow`` later."""
    out.mkdir()
    scenario = Scenario.parse({**SCENARIO, "policy": policy(limit, f"at-{limit}")})
    facts.write(out, scenario, Facts(0.0, "1", last, "salt"))
    with Recorder(out) as recorder:
        for index in range(last):
            at = index / 10 + shift
            first, last_at = at + slow, at + slow + 0.4
            recorder.sample(
                answered(index, at, first_token_at=first, last_token_at=last_at, done_at=last_at)
            )
    return str(out)


def test_two_runs_of_one_load_are_described_without_a_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = run_of(tmp_path / "a", limit=8, slow=0.05)
    b = run_of(tmp_path / "b", limit=4, slow=0.25)
    assert main(["compare", a, b]) == 0
    said = capsys.readouterr().out
    assert "A, at-8" in said
    assert "B, at-4" in said
    assert "100 pairs: 0 bad in A alone, 100 in B alone, 0 in both" in said
    assert "median change of TTFT +200.0 ms" in said
    assert "No verdict" in said
    assert main(["compare", a, b, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"]["n"] == 100
    assert "outcome" not in found


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"shift": 0.01}, "had another time in each arm"),
        ({"last": 90}, "were never the candidate's"),
    ],
)
def test_runs_that_were_not_asked_the_same_are_refused(
    changes: dict[str, float], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = run_of(tmp_path / "a", limit=8, slow=0.05)
    b = run_of(tmp_path / "b", limit=8, slow=0.05, **changes)
    assert main(["compare", a, b]) == 13
    assert told in capsys.readouterr().err


def test_a_directory_that_is_no_run_is_bad_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = run_of(tmp_path / "a", limit=8, slow=0.05)
    assert main(["compare", a, str(tmp_path)]) == 20
    assert "is no directory of a run" in capsys.readouterr().err
