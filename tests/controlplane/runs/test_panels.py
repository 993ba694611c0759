"""What each figure says in its one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controlplane.runs.panels.base import Row, Shown, panels
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.slo import Slo
from measurement.window import WindowFold
from tests.controlplane.runs.conftest import SLO

WITH = Slo.parse(SLO)


def said(panel: str, rows: list[Row], *, slo: Slo | None = WITH, step: int = 2) -> str:
    return panels.get(panel)().sentence(Shown(rows, step, slo))


def rows(n: int, **columns: list[float | None]) -> list[Row]:
    length = max(len(values) for values in columns.values())
    return [
        Row(2 * i, False, n, {key: values[i] for key, values in columns.items()})
        for i in range(length)
    ]


def ttft(n: int, p50: list[float], p95: list[float], p99: list[float]) -> list[Row]:
    return rows(n, ttft_p50=p50, ttft_p95=p95, ttft_p99=p99)


def test_a_percentile_over_its_objective_is_counted_and_placed() -> None:
    over = ttft(400, [100] * 4, [300] * 4, [700, 900, 750, 801])
    assert said("ttft", over) == "P99 above 800 ms in 2 of 4 cohorts, first at 0:02."


def test_a_percentile_within_its_objective_says_how_far() -> None:
    within = ttft(400, [100] * 2, [300] * 2, [700, 750])
    expected = "P99 at most 750 ms in 2 cohorts; the objective allows 800 ms."
    assert said("ttft", within) == expected


def test_small_cohorts_speak_of_a_percentile_that_they_can_bear() -> None:
    small = ttft(80, [100] * 2, [300, 900], [5_000] * 2)
    assert said("ttft", small) == (
        "P95 above 800 ms in 1 of 2 cohorts, first at 0:02. "
        "P99 is grey: most cohorts have fewer than 368 answers."
    )
    assert said("ttft", ttft(40, [100] * 2, [900] * 2, [5_000] * 2)) == (
        "P50 at most 100 ms in 2 cohorts; the objective allows 800 ms. "
        "P95 and P99 are grey: most cohorts have fewer than 72 answers."
    )
    assert said("ttft", ttft(3, [100], [1], [1])).startswith("Too few answers to judge")


@pytest.mark.parametrize("name", ["ttft", "tpot", "e2e"])
def test_each_percentile_is_grey_under_its_own_n(name: str) -> None:
    figure = panels.get(name)().figure(None)
    needed = {series.label: series.grey_under_n for series in figure.series}
    assert needed == {"P50": 6, "P95": 72, "P99": 368}


def test_an_open_cohort_is_not_judged_as_its_slowest_are_still_out() -> None:
    closed = ttft(400, [100], [300], [700])
    still_open = [Row(2, True, 400, {"ttft_p99": 900.0, "attainment_percent": 10.0})]
    assert said("ttft", closed + still_open).startswith("P99 at most 700 ms in 1 cohort;")
    assert said("ttft", still_open) == "No cohort with an answer has closed yet."
    assert said("attainment", still_open) == "No cohort has closed yet."


def test_goodput_is_not_drawn_while_answers_are_still_out() -> None:
    fold = WindowFold()
    for index in range(2):
        fold.offered(index, "a", 0.1)
    good = panels.get("load").columns["goodput_rps"]
    fold.resolved(Sample(0, "a", 0.1, Outcome.OK, done_at=0.5))
    assert [good(window) for window in fold.changed(1.0)] == [None]
    fold.resolved(Sample(1, "a", 0.1, Outcome.HTTP_5XX, done_at=1.5))
    assert good(fold.changed(2.0)[0]) == 1.0


def test_without_an_objective_the_range_is_told() -> None:
    assert said("ttft", ttft(400, [1], [2], [640.4]), slo=None) == (
        "P99 between 640 and 640 ms; no objective."
    )


def test_answers_that_have_no_such_metric_are_said_to_have_none() -> None:
    none = rows(400, tpot_p50=[None], tpot_p95=[None], tpot_p99=[None])
    assert said("tpot", none) == "No values: these answers have none."


def test_goodput_is_told_against_offered() -> None:
    told = rows(40, offered_rps=[20, 20], goodput_rps=[20, 18])
    assert said("load", told) == "Goodput is 95.0 % of offered. The gap is widest at 0:02: 2.0 /s."


def test_attainment_under_its_target_is_counted_and_placed() -> None:
    low = rows(40, attainment_percent=[100, None, 80, 95])
    assert said("attainment", low) == "Below 90 % in 1 of 3 cohorts, first at 0:04."
    assert said("attainment", low[:1]) == "At or above 90 % in each of 1 cohort."


def test_the_limit_is_told_with_its_range_and_moves() -> None:
    assert said("limit", rows(0, limit=[8, 8, 12, 10])) == (
        "Between 8 and 12, now 10; changed in 2 of 4 rows."
    )
    assert said("limit", rows(0, limit=[8, 8])) == "The limit stayed at 8."
    assert said("limit", rows(0, limit=[None])) == "This policy sets no limit."


def test_reaching_the_limit_is_told() -> None:
    full = rows(0, in_flight_max=[3, 8, 8], limit=[8, 8, 8])
    assert said("in_flight", full, step=1) == (
        "At most 8 in flight; the limit was reached in 2 of 3 rows of 1 s, first at 0:02."
    )
    free = rows(0, in_flight_max=[3], limit=[8])
    assert said("in_flight", free) == "At most 3 in flight: the limit was never reached."


def test_missing_engine_metrics_are_told_and_never_read_as_zero() -> None:
    gap = rows(0, waiting=[0, None, None, None, 4], running=[1, None, None, None, 2])
    assert said("engine", gap, step=1) == (
        "Up to 4 waiting inside the engine, first at 0:08. Its metrics were missing for 3 s."
    )
    blind = rows(0, waiting=[None], running=[None])
    assert said("engine", blind).startswith("This engine's metrics can't be read")
    assert said("kv_use", rows(0, kv_percent=[None])).startswith("This engine does not say")
    assert said("kv_use", rows(0, kv_percent=[10, 83.04])) == "At most 83.0 %, at 0:02."


def test_rows_that_a_poll_fell_beside_are_no_gap() -> None:
    beside = [0, None, 0, None, None, 0, None]
    assert said("engine", rows(0, waiting=beside), step=1) == "No queue inside the engine."
    late = [0, None, 0, None, None, None, None]
    assert said("engine", rows(0, waiting=late), step=1).endswith("were missing for 4 s.")


@pytest.mark.parametrize("name", sorted(panels.all()))
def test_every_panel_has_a_sentence_for_no_data(name: str) -> None:
    for slo in (WITH, None):
        sentence = said(name, [], slo=slo)
        assert sentence.endswith(".")
        assert "nan" not in sentence.lower()


@pytest.mark.parametrize("name", sorted(panels.all()))
def test_every_panel_says_what_it_is(name: str) -> None:
    cls = panels.all()[name]
    figure = cls().figure(WITH)
    assert figure.title
    assert figure.sub
    assert {series.key for series in figure.series}
    assert cls.name == name


def test_every_panel_has_its_row_in_the_documentation() -> None:
    text = (Path(__file__).parents[3] / "docs" / "runs.md").read_text()
    described = set(re.findall(r"^\| `(\w+)` \| (events|cohorts) \|", text, re.MULTILINE))
    assert described == {(name, cls.source) for name, cls in panels.all().items()}
