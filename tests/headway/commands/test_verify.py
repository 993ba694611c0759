"""``headway verify comparison``: its table and its exit code."""

from __future__ import annotations

import pytest

from headway.__main__ import main
from measurement import interval_verification
from measurement.comparison import verification

SMALL = interval_verification.Size(20, ((0.5, 4_000),))
TINY = verification.Size(300, ("lognormal",), requests=(60,), correlations=(0.9,))


def test_a_held_method_prints_its_table_and_ends_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verification, "REDUCED", TINY)
    monkeypatch.setattr(verification, "SLACK", 0.06)
    assert main(["verify", "comparison"]) == 0
    said = capsys.readouterr()
    for part in ("false harm", "false pass", "request z-test", "shared engine", "+10 % latency"):
        assert part in said.out
    assert said.out.endswith("Every bar is held.\n")
    assert said.err == ""


def test_a_missed_bar_is_named_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verification, "REDUCED", TINY)
    monkeypatch.setattr(verification, "SLACK", -0.05)
    assert main(["verify", "comparison", "--cells", "--runs", "200"]) == 1
    said = capsys.readouterr()
    assert "bars are missed" in said.err
    assert "sequence, correlation 0.9" in said.err
    assert " NO " in said.out


def test_what_cannot_be_verified_is_bad_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["verify", "everything"])
    assert left.value.code == 20
    assert "comparison" in capsys.readouterr().err


def test_intervals_print_their_coverage_and_end_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = interval_verification.Size(100, ((0.5, 4_000),))
    monkeypatch.setattr(interval_verification, "REDUCED", tiny)
    assert main(["verify", "intervals"]) == 0
    said = capsys.readouterr()
    assert "order statistics     0.5   4,000 P95" in said.out
    assert said.out.endswith("Every bar is held.\n")


def test_an_interval_that_covers_too_little_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(interval_verification, "REDUCED", SMALL)
    monkeypatch.setattr(interval_verification, "BAR", 0.999)
    assert main(["verify", "intervals"]) == 1
    assert "bars are missed" in capsys.readouterr().err
