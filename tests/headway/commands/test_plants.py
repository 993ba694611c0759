"""``headway plants``: a table, a check that fails where a bar is missed, a plant of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.__main__ import main


def test_it_prints_optimum_attained_refusals_and_settling(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plants", "S1", "--law", "fixed:limit=45", "--seeds", "1"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["plant", "case", "law", "optimum", "attained", "429s", "settle", "bars"]
    assert len(rows) == 4
    assert rows[0].startswith("S1       σ 0.0      fixed:limit=45       17.8 s        98.8%")


@pytest.mark.parametrize(("law", "code"), [("fixed:limit=45", 0), ("fixed:limit=8", 1)])
def test_a_check_fails_where_a_bar_is_missed(
    law: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plants", "S1", "--law", law, "--seeds", "1", "--check"]) == code
    assert ("MISSED over_optimum" in capsys.readouterr().out) is bool(code)


def test_the_check_is_for_the_recommended_law_where_none_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plants", "S1", "--seeds", "2", "--check"]) == 0
    assert "adaptive_bdp" in capsys.readouterr().out


def test_a_missed_bar_fails_nothing_without_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plants", "S1", "--law", "fixed:limit=8", "--seeds", "1"]) == 0
    assert "MISSED" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["S14"],
        ["S13", "--law", "fixed"],
        ["S1", "--law", "nope"],
        ["S1", "--law", "fixed:limit"],
        ["S1", "--law", "fixed:limit=0"],
        ["S1", "--seeds", "0"],
        ["--plant-file", "none.yaml"],
        ["S1", "--plant-file", "none.yaml"],
    ],
)
def test_what_is_wrong_is_bad_configuration(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plants", *words]) == 20
    assert capsys.readouterr().err.startswith("headway plants: ")


def test_a_plant_of_ones_own_is_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plant.yaml"
    path.write_text("{capacity: 10, knee: 12, reject_at: 20, base_s: 1, top_s: 6, tasks: 100}")
    words = ["plants", "--plant-file", str(path), "--law", "fixed:limit=10", "--seeds", "2"]
    assert main(words) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split()[:3] for row in rows] == [["own", "seed", "1"], ["own", "seed", "2"]]
    assert "10/s" in rows[0]


def test_a_plant_of_another_point_plays_that_points_laws(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plants", "S13", "--seeds", "1", "--check"]) == 0
    shown = capsys.readouterr().out
    assert "full_jitter" in shown
    assert "adaptive_bdp" not in shown
    words = ["plants", "S13", "--law", "none", "--seeds", "1", "--check"]
    assert main(words) == 1
    assert "MISSED finish_s never" in capsys.readouterr().out
