"""Rows rolled up from windows: the steps, percentiles of merged histograms, and open cohorts."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.runs.board import MOST_ROWS, Board, cohort_step, event_step
from measurement.histogram import merge_all
from measurement.window import Window
from tests.controlplane.runs.conftest import folded


@pytest.mark.parametrize(
    ("seconds", "events", "cohorts"),
    [
        (10, 1, 1),
        (60, 1, 2),
        (150, 1, 5),
        (300, 1, 10),
        (1_799, 1, 10),
        (1_800, 1, 60),
        (3_600, 10, 60),
        (86_400, 60, 600),
    ],
)
def test_the_steps_suit_the_run(seconds: float, events: int, cohorts: int) -> None:
    assert (event_step(seconds), cohort_step(seconds)) == (events, cohorts)


@given(st.floats(min_value=30, max_value=86_400))
def test_a_table_has_thirty_rows_and_no_more_than_it_may(seconds: float) -> None:
    assert 30 <= seconds / cohort_step(seconds) <= MOST_ROWS
    assert seconds / event_step(seconds) <= MOST_ROWS


def final(seconds: int, **more: object) -> list[Window]:
    newest = {w.index: w for windows in folded(seconds, **more) for w in windows}
    return list(newest.values())


def test_percentiles_are_read_from_merged_histograms() -> None:
    windows = final(10, rate=20)
    board = Board(150)
    board.fold(windows)
    row = board.cohorts.shown()[0]
    merged = merge_all(window.cohort.ttft for window in windows[:5])
    assert board.cohorts.step == 5
    assert (row.n, row["ttft_p99"]) == (100, pytest.approx(1000 * merged.percentile(99), abs=1e-3))


def test_rates_are_over_the_seconds_that_are_there() -> None:
    board = Board(152)
    board.fold(final(7, rate=10)[:7])
    assert [row["offered_rps"] for row in board.cohorts.shown()] == [10.0, 10.0]


def test_the_drain_has_events_and_no_cohorts() -> None:
    board = Board(61)
    board.fold(final(61, rate=2))
    assert (board.cohorts.step, board.cohorts.shown()[-1].at) == (2, 60)
    assert not board.cohorts.shown()[-1].open
    assert board.cohorts.shown()[-1]["offered_rps"] == 2.0
    assert board.events.shown()[-1].at == 61


def test_null_stands_under_no_data() -> None:
    board = Board(60)
    board.fold(final(2, bad=lambda _: True))
    row = board.cohorts.shown()[0]
    assert (row.n, row["ttft_p50"], row["e2e_p99"]) == (0, None, None)
    assert row["attainment_percent"] == 0
    assert board.events.shown()[0]["kv_percent"] is None


def test_a_cohort_is_open_until_its_last_window_is_final() -> None:
    told = folded(60)
    board = Board(60)
    board.fold(told[0])
    assert [row.open for row in board.cohorts.shown()] == [True]
    for windows in told[1:]:
        board.fold(windows)
    assert [row.open for row in board.cohorts.shown()] == [False] * 30


def test_the_end_closes_what_is_open() -> None:
    board = Board(60)
    board.fold(folded(3)[0])
    assert board.close()["cohorts"] == {0}
    assert [row.open for row in board.cohorts.shown()] == [False]
    assert board.close() == {"events": set(), "cohorts": set()}


def test_an_equal_row_is_no_change() -> None:
    windows = folded(2)[0]
    board = Board(60)
    assert board.fold(windows)["events"] == {0}
    assert board.fold(windows) == {"events": set(), "cohorts": set()}


def test_warm_up_is_drawn_and_not_counted() -> None:
    board = Board(60, warm_up_s=2)
    board.fold(final(5))
    assert board.cohorts.counts().offered == 30
    assert board.cohorts.shown()[0]["offered_rps"] == 10.0


@settings(deadline=None)
@given(rng=st.randoms(use_true_random=False))
def test_any_order_of_windows_gives_the_same_rows(rng: Random) -> None:
    told = [window for windows in folded(7, rate=4) for window in windows]
    straight, shuffled = Board(60), Board(60)
    straight.fold(told)
    rng.shuffle(told)
    for window in told:
        shuffled.fold([window])
    for table, other in zip(straight.tables, shuffled.tables, strict=True):
        assert table.rows == other.rows
    assert straight.cohorts.counts() == shuffled.cohorts.counts()


def test_a_long_run_keeps_few_windows() -> None:
    board = Board(86_400)
    for window in final(130):
        board.fold([window])
    assert sum(len(bucket) for bucket in board.events._buckets.values()) < 60
