"""The model at published points of real engines, and at the limits that theory knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.__main__ import main
from simulator import profile as profiles
from simulator.fidelity import queues, sweeps
from simulator.fidelity.check import Check

ROOT = Path(__file__).parents[3]


def test_tpot_of_published_sweeps_is_met_within_the_bars() -> None:
    checks = list(sweeps.tpot_checks(rounds=4))
    assert len(checks) == 8
    assert [check.name for check in checks if not check.met] == []
    assert min(check.error for check in checks) > 0.01, "they are measurements, not our own numbers"
    for check in checks:
        stated = profiles.load(check.name.removeprefix("TPOT, ")).mean_error_percent
        assert stated == pytest.approx(100 * check.error, abs=1.0), (
            "with ten rounds, these are four"
        )


def test_memory_ends_within_one_step_of_where_it_really_does() -> None:
    step, beyond = sweeps.knee_checks()
    assert (step.met, beyond.met) == (True, True)


def test_another_machine_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    point = next(each for each in sweeps.points() if each.profile == "qwen3-32b-h100-tp8")
    slow = sweeps.Point("qwen3-32b-h100-tp2", *[getattr(point, name) for name in (
        "prompt_tokens", "output_tokens", "concurrency", "ttft_ms", "tpot_ms"
    )])  # fmt: skip
    monkeypatch.setattr(sweeps, "points", lambda: (slow,))
    assert [check.met for check in sweeps.tpot_checks()] == [False]


def test_the_command_tells_each_check_and_fails_on_a_miss(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "tpot_checks", lambda: iter(()))
    monkeypatch.setattr(sweeps, "knee_checks", lambda: iter(()))
    good = Check("wait", "theory", 0.01, 0.02, "n = 3")
    monkeypatch.setattr(queues, "queue_checks", lambda: iter((good,)))
    assert main(["fidelity", "--check"]) == 0
    assert "1.00%    2.00%  wait, against theory (n = 3)" in capsys.readouterr().out
    bad = Check("wait", "theory", 0.03, 0.02)
    monkeypatch.setattr(queues, "queue_checks", lambda: iter((bad,)))
    assert main(["fidelity"]) == 0
    assert main(["fidelity", "--check"]) == 1
    assert "MISSED  wait" in capsys.readouterr().out


def test_the_docs_count_the_published_points() -> None:
    assert len(sweeps.points()) == 165
    assert "the sweeps are 165 rows" in (ROOT / "docs/fidelity.md").read_text()
