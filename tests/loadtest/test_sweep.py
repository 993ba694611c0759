"""A sweep finds the knee that its engine has, says where to run, and when it does not reproduce."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from documents.problem import DocumentError
from headway.__main__ import main
from loadtest.sweep import model
from loadtest.sweep.ladder import Ladder
from loadtest.sweep.report import render
from loadtest.sweep.result import Rung, analyse
from measurement.capacity.observed import Observed
from simulator import profile
from tests.loadtest.simulation.policies import policy
from tests.loadtest.test_scenario import document

PROFILE = str(Path(__file__).parent / "sweep_profile.yaml")
"""Four sequences of eight steps at 20 ms: 25 requests/s and no more."""


def rung(rate: float, repeat: int, *, p95: float = 0.1, capacity: float = 40.0) -> Rung:
    served = min(rate, capacity)
    late = max(0.0, rate - 0.9 * capacity)
    seen = Observed(rate, served, attainment=served / rate, latency=p95 + late)
    return Rung(rate, repeat, "pass", seen)


LADDER = Ladder(lowest=10, highest=60, steps=6, repeats=3)


def rungs(*moves: float) -> list[Rung]:
    return [rung(rate, n, p95=0.1 * move) for n, move in enumerate(moves) for rate in LADDER.rates]


def test_the_ladder_has_equal_steps_and_a_seed_a_repeat() -> None:
    assert LADDER.rates == (10, 20, 30, 40, 50, 60)
    first = next(LADDER.scenarios(document(seed=5), 0))
    third = next(LADDER.scenarios(document(seed=5), 2))
    assert (first.seed, third.seed) == (5, 7)
    assert first.arrivals.name == "poisson"


@pytest.mark.parametrize(
    "changes", [{"arrivals": {"process": "closed", "concurrency": 4}}, {"duration_s": -1}]
)
def test_what_no_ladder_can_be_made_of_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DocumentError):
        list(LADDER.scenarios(document(**changes), 0))


def test_three_sweeps_that_agree_are_reproducible() -> None:
    found = analyse(rungs(1.0, 1.05, 0.95), LADDER, 0.95)
    assert found.reproducible is True
    assert found.moved == pytest.approx(0.1)
    assert found.knee.load == pytest.approx(42.5, abs=0.5)
    assert found.slo_load == pytest.approx(42.5, abs=0.5)


def test_three_sweeps_that_move_p95_by_15_percent_are_not() -> None:
    found = analyse(rungs(1.0, 1.1, 0.95), LADDER, None)
    assert found.reproducible is False
    assert "Not reproducible" in render(found).replace("\n", " ")
    assert "15 %" in found.notes[0]


def test_two_sweeps_leave_it_open() -> None:
    found = analyse(rungs(1.0, 1.0), LADDER, None)
    assert found.reproducible is None
    assert found.notes == ("Whether it reproduces takes three repeats to say.",)


def test_a_rung_whose_stimulus_was_invalid_counts_for_nothing() -> None:
    bad = Rung(35.0, 0, "invalid", None, "the client was late")
    found = analyse([*rungs(1.0, 1.0, 1.0), bad], LADDER, None)
    assert found.knee.load == analyse(rungs(1.0, 1.0, 1.0), LADDER, None).knee.load
    assert any("the client was late" in note for note in found.notes)


def test_a_policy_acts_in_a_sweep_of_the_model() -> None:
    ladder = Ladder(lowest=20, highest=40, steps=3, repeats=1)
    few = {"concurrency": {"law": "fixed", "limit": 2}}
    asked = document(policy=policy(**few), slo=None, duration_s=10)
    found = next(ladder.scenarios(asked, 0))
    conclusion = model.run(found, profile.load(PROFILE))
    assert max(window.in_flight_max or 0 for window in conclusion.seen.windows) == 2
    assert conclusion.seen.policy["enforcement"][0]["mode"] == "enforced"


@pytest.mark.parametrize(
    ("n", "share", "past"),
    [(10, 0.1, False), (8, 0.0, False), (50, 0.54, True), (50, 0.6, False), (340, 0.79, True),
     (10_000, 0.81, False), (0, 0.0, False)],
)  # fmt: skip
def test_a_rung_is_past_the_knee_only_by_enough_requests(n: int, share: float, past: bool) -> None:
    seen = Observed(10.0, 10.0 * share)
    assert Rung(10.0, 0, "fail", seen, n=n).past is past


def test_an_engine_that_follows_is_seldom_called_full_however_few_are_asked() -> None:
    draw = np.random.default_rng(7)
    for n in (10, 40, 160):
        counts = draw.poisson(n, (4_000, 2))
        called = [
            Rung(1.0, 0, "pass", Observed(float(asked), float(served)), n=int(asked)).past
            for asked, served in counts
            if asked
        ]
        assert np.mean(called) < 0.04


def sweep(out: Path, *more: str) -> int:
    return main(
        [
            *("sweep", "--profile", PROFILE, "--from", "5", "--to", "45", "--steps", "5"),
            *("--duration", "30s", "--drain", "5s", "--workload", "fixed-64"),
            *("--max-tokens", "8", "--out", str(out), "--quiet", *more),
        ]
    )


def test_the_command_finds_the_knee_of_a_known_engine_and_plans_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = sweep(tmp_path / "s", "--slo", "batch", "--repeats", "3")
    told = capsys.readouterr().out
    found = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert found["knee"]["load"] == pytest.approx(25, rel=0.12)
    assert found["knee"]["recommended"][0] == pytest.approx(0.7 * found["knee"]["load"])
    assert "Knee at 2" in told
    assert code == (0 if found["reproducible"] else 12)
    assert main(["capacity", str(tmp_path / "s"), "--load", "100", "--max-seqs", "4"]) == 0
    planned = capsys.readouterr().out
    each = 0.75 * found["knee"]["load"]
    assert f"Instances: {-int(-100 // each)}" in planned
    assert "Assumed:" in planned
    assert "the limit on sequences" in planned


def test_the_same_sweep_gives_the_same_numbers(tmp_path: Path) -> None:
    for name in ("a", "b"):
        sweep(tmp_path / name, "--repeats", "1", "--duration", "10s")
    texts = [(tmp_path / name / "sweep.json").read_text() for name in ("a", "b")]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["sweep", "--from", "5", "--to", "10"],
        ["sweep", "--from", "5", "--to", "5", "--profile", PROFILE],
        ["sweep", "--from", "5", "--to", "10", "--profile", "nothing-like-it"],
        ["capacity", "/nonexistent", "--load", "5"],
    ],
)
def test_what_cannot_be_done_is_bad_configuration(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 20
    assert f"headway {arguments[0]}: " in capsys.readouterr().err


def test_a_load_of_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep(tmp_path / "s", "--repeats", "1", "--duration", "10s")
    assert main(["capacity", str(tmp_path / "s"), "--load", "-5"]) == 20
    assert "must be above 0" in capsys.readouterr().err
