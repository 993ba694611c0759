"""Series of seeds: when one is below another, and how they are shown."""

from __future__ import annotations

import json
import math

import pytest

from loadtest.reproduce.legend import legend
from loadtest.reproduce.rendering import as_json, number, text
from loadtest.reproduce.series import Series, below, best
from loadtest.reproduce.table import Cell, Finding, Reproduction, Row


def test_the_margin_is_half_of_students_interval() -> None:
    assert Series((1.0, 2.0, 3.0)).margin == pytest.approx(4.302653 / math.sqrt(3))
    assert Series((1.0,)).margin is None
    assert Series((1.0, math.inf)).margin is None


def test_below_needs_the_paired_interval_and_not_the_means_alone() -> None:
    assert below(Series((1.0, 2.0, 3.0)), Series((1.5, 2.5, 3.5)))
    assert not below(Series((1.0, 2.0, 3.0)), Series((3.0, 1.0, 3.5)))
    assert not below(Series((1.0, 1.0)), Series((1.0, 1.0)))
    assert below(Series((1.0,)), 2.5, times=2)
    assert not below(Series((1.0,)), 1.5, times=2)


def test_what_never_happens_is_above_everything_and_below_nothing() -> None:
    assert below(Series((1.0, 1.0)), Series((math.inf, 2.0)))
    assert not below(Series((1.0, 3.0)), Series((math.inf, 2.0)))
    assert not below(Series((math.inf,)), Series((math.inf,)))


def test_the_best_setting_is_the_highest_or_the_least() -> None:
    settings = {"a": {"x": Series((1.0, 5.0))}, "b": {"x": Series((2.0, 2.0))}}
    assert best(settings, "x") == "a"
    assert best(settings, "x", least=True) == "b"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (0.01234, "0.0123"), (17.78, "17.8"), (100.0, "100"), (1234.5, "1,234"),
     (math.inf, "never"), (-2.0, "-2")],
)  # fmt: skip
def test_numbers_have_three_digits_that_count(value: float, shown: str) -> None:
    assert number(value) == shown


RESULT = Reproduction(
    (
        Row(
            case="one",
            measure="wait",
            unit="s",
            claimed=Cell(98.4),
            reference=Cell(Series((math.inf, 2.0))),
            corrected=Cell(Series((1.0, 2.0)), "best"),
        ),
        Row(case="one", measure="429s", claimed=Cell("none")),
    ),
    (Finding("It waits.", True), Finding("It flies.", False)),
)


def test_a_reproduction_reads_as_a_table_and_says_which_sentence_it_does_not_support() -> None:
    lines = text(RESULT).splitlines()
    assert [cell.strip() for cell in lines[0].split("|")[1:-1]] == [
        "case", "measure", "claimed", "reference law", "corrected law", "best fixed setting",
        "optimum",
    ]  # fmt: skip
    assert [cell.strip() for cell in lines[2].split("|")[1:-1]] == [
        "one", "wait, s", "98.4", "never with 1 of 2 seeds", "1.5 ± 6.35 (best)", "–", "–",
    ]  # fmt: skip
    assert lines[3].startswith("| ″ ")
    assert lines[-2:] == ["- It waits.", "- NOT SUPPORTED BY THIS RUN: It flies."]


def test_a_table_comes_with_what_its_signs_mean() -> None:
    rows = (
        Row(case="one", measure="TTFT", optimum=Cell(1.433, "e^σ²"), claimed=Cell(1.0)),
        Row(case="one", measure="… after it", optimum=Cell(Series((math.inf, math.inf)))),
    )
    signs = [one.sign for one in legend(Reproduction(rows, ()), "`slack_density` with κ 0")]
    assert signs == ["–", "″", "…", "( )", "never", "e^σ²", "κ", "TTFT"]
    assert "σ" in [one.sign for one in legend(Reproduction(rows[:1], ()), "work of spread σ 0.1")]


def test_json_has_every_value_of_every_seed_and_no_infinity() -> None:
    found = json.loads(json.dumps(as_json(RESULT, (1, 2)), allow_nan=False))
    assert found["rows"][0]["reference_law"] == {
        "mean": None, "margin95": None, "values": [None, 2.0], "note": "",
    }  # fmt: skip
    assert found["rows"][1]["claimed"] == {"words": "none", "note": ""}
    assert found["seeds"] == [1, 2]
    assert found["holds"] is False
