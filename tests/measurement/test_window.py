"""The fold of what is reported, in any order, into windows."""

from __future__ import annotations

import json
import random
import tracemalloc
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurement.live import Live
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.window import RETENTION, Window, WindowFold, roll_up
from tests.measurement.builders import answered, failed, sample_lists, slo

law = settings(max_examples=40)


def told(fold: WindowFold, sample: Sample) -> None:
    """Report one finished sample, as a driver would have."""
    fold.offered(sample.index, sample.tenant, sample.intended_at)
    if sample.sent_at is not None:
        fold.sent(sample.sent_at)
    at = sample.first_token_at
    if at is not None:
        fold.tokens(at, 1)
        for gap in sample.gaps:
            at += gap
            fold.tokens(at, 1)
    fold.resolved(sample)


def folded(samples: list[Sample], end: float = 12.0) -> list[Window]:
    fold = WindowFold(slo=slo())
    for sample in samples:
        told(fold, sample)
    return fold.finish(end)


def content(windows: list[Window]) -> list[object]:
    return [(window.index, window.events, window.cohort) for window in windows]


@law
@given(sample_lists(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_windows_of_any_split_over_workers_merge_to_the_fold_of_all(
    samples: list[Sample], workers: int, dice: random.Random
) -> None:
    parts: list[list[Sample]] = [[] for _ in range(workers)]
    for sample in samples:
        dice.choice(parts).append(sample)
    merged = [reduce(Window.merge, same) for same in zip(*map(folded, parts), strict=True)]
    assert content(merged) == content(folded(samples))


@law
@given(sample_lists(most=8), st.randoms(use_true_random=False))
def test_the_order_of_reports_does_not_matter(samples: list[Sample], dice: random.Random) -> None:
    shuffled = list(samples)
    dice.shuffle(shuffled)
    assert content(folded(shuffled)) == content(folded(samples))


@law
@given(sample_lists(most=8))
def test_asking_for_changes_often_ends_in_the_same_windows(samples: list[Sample]) -> None:
    fold = WindowFold(slo=slo())
    last: dict[int, Window] = {}
    for sample in sorted(samples, key=lambda s: s.intended_at):
        told(fold, sample)
        last.update({window.index: window for window in fold.changed(sample.intended_at)})
    last.update({window.index: window for window in fold.finish(12.0)})
    assert content([last[index] for index in sorted(last)]) == content(folded(samples))


@law
@given(sample_lists(most=4), sample_lists(most=4), sample_lists(most=4))
def test_merging_is_associative_and_commutative(
    a: list[Sample], b: list[Sample], c: list[Sample]
) -> None:
    for one, two, three in zip(folded(a), folded(b), folded(c), strict=True):
        assert one.merge(two) == two.merge(one)
        assert one.merge(two).merge(three) == one.merge(two.merge(three))


@law
@given(sample_lists(most=8))
def test_rolling_up_in_steps_is_rolling_up_at_once(samples: list[Sample]) -> None:
    windows = folded(samples)
    assert roll_up(roll_up(windows, 4.0), 12.0) == roll_up(windows, 12.0)
    whole = roll_up(windows, 12.0)[0].cohort
    assert whole.offered == len(samples)


@law
@given(sample_lists(most=8))
def test_json_brings_back_the_same_window(samples: list[Sample]) -> None:
    for window in folded(samples):
        assert Window.from_json(json.loads(json.dumps(window.to_json()))) == window


def test_a_window_is_open_until_its_last_request_is_resolved() -> None:
    fold = WindowFold()
    fold.offered(0, "acme", 0.5)
    [first] = fold.changed(1.0)
    assert (first.revision, first.final, first.cohort.pending) == (1, False, 1)
    assert fold.changed(1.5) == []
    fold.resolved(answered(at=0.5))
    [again] = fold.changed(1.9)
    assert (again.revision, again.final, again.cohort.pending) == (2, True, 0)


def test_a_late_event_revises_the_window_it_happened_in() -> None:
    fold = WindowFold()
    fold.tokens(0.2, 3)
    assert [w.events.tokens for w in fold.changed(2.0)] == [3, 0]
    fold.tokens(0.9, 2)
    [revised] = fold.changed(2.5)
    assert (revised.index, revised.revision, revised.events.tokens) == (0, 2, 5)


def test_quiet_seconds_are_windows_too() -> None:
    fold = WindowFold()
    fold.sent(3.5)
    assert [window.index for window in fold.changed(4.0)] == [0, 1, 2, 3]


def test_finish_gives_the_window_that_is_not_over() -> None:
    fold = WindowFold()
    fold.sent(1.2)
    fold.changed(1.0)
    assert [window.index for window in fold.finish(1.3)] == [1]


def test_an_outcome_without_its_offer_is_refused() -> None:
    fold = WindowFold()
    fold.resolved(answered())
    with pytest.raises(ValueError, match="never offered"):
        fold.changed(1.0)


def test_what_comes_after_a_settled_window_was_let_go_is_counted_apart() -> None:
    fold = WindowFold()
    fold.tokens(0.5, 1)
    fold.changed(1.0)
    fold.changed(RETENTION + 2)
    fold.tokens(0.6, 1)
    assert fold.too_late == 1
    assert [w for w in fold.changed(RETENTION + 2.5) if w.index == 0] == []


def test_a_window_with_open_requests_is_never_let_go() -> None:
    fold = WindowFold()
    fold.offered(0, "acme", 0.5)
    fold.changed(3 * RETENTION)
    fold.resolved(answered(at=0.5, done_at=3 * RETENTION - 0.5))
    assert [w.index for w in fold.changed(3 * RETENTION)] == [0, 3 * RETENTION - 1]
    assert fold.too_late == 0


def test_in_flight_is_a_mean_over_time_and_not_over_reports() -> None:
    fold = WindowFold()
    fold.in_flight(0.0, 1)
    fold.in_flight(0.75, 5)
    fold.in_flight(0.76, 1)
    first, second = fold.changed(2.0)
    assert first.events.in_flight_mean == pytest.approx(1.04)
    assert (first.events.in_flight_max, second.events.in_flight_max) == (5, 1)
    assert second.events.in_flight_mean == 1.0


def test_in_flight_is_null_where_nobody_has_counted_yet() -> None:
    fold = WindowFold()
    fold.in_flight(1.5, 2)
    first, second = fold.changed(2.0)
    assert (first.events.in_flight_mean, first.events.in_flight_max) == (None, None)
    assert second.events.in_flight_mean == 1.0


def test_a_late_change_of_in_flight_mends_every_window_it_reaches() -> None:
    steps = [(0.5, 1), (1.5, 2), (3.5, 1)]
    fold, late = WindowFold(), WindowFold()
    for at, n in steps:
        fold.in_flight(at, n)
    late.in_flight(0.5, 1)
    late.changed(3.0)
    for at, n in steps[1:]:
        late.in_flight(at, n)
    last = {window.index: window.events for window in late.changed(4.0)}
    means = [window.events.in_flight_mean for window in fold.changed(4.0)]
    assert means == [0.5, 1.5, 2.0, 1.5]
    assert [last[i].in_flight_mean for i in (1, 2, 3)] == means[1:]


def test_a_limit_holds_until_the_next_and_a_late_one_up_to_there() -> None:
    fold = WindowFold()
    fold.limit(0.1, 8)
    fold.limit(2.5, 16)
    assert [w.events.limit for w in fold.changed(4.0)] == [8, 8, 16, 16]
    fold.limit(1.5, 12)
    assert [(w.index, w.events.limit) for w in fold.changed(4.0)] == [(1, 12)]
    fold.limit(3.2, 20)
    fold.limit(3.1, 99)
    assert [w.events.limit for w in fold.changed(5.0)] == [20, 20]


def test_a_shadows_limit_holds_as_the_policys_does_and_is_absent_without_one() -> None:
    fold = WindowFold()
    for at, n in ((0.1, 8), (2.5, 16)):
        fold.limit(at, n)
        fold.shadow_limit(at, 2 * n)
    windows = fold.changed(4.0)
    assert [w.events.shadow_limit for w in windows] == [16, 16, 32, 32]
    fold.shadow_limit(1.5, 12)
    assert [(w.events.limit, w.events.shadow_limit) for w in fold.changed(4.0)] == [(8, 12)]
    [whole] = roll_up(windows, 4.0)
    assert Window.from_json(whole.to_json()).events.shadow_limit == 32
    bare = WindowFold()
    bare.limit(0.1, 8)
    assert all("shadow_limit" not in w.to_json()["events"] for w in bare.changed(2.0))


def test_a_missing_poll_of_the_engine_is_a_gap() -> None:
    fold = WindowFold()
    fold.signals(0.5, 4, 1, 0.25)
    fold.signals(0.4, 9, 9, 0.99)
    first, second = fold.changed(2.0)
    assert (first.events.running, first.events.kv_use) == (4, 0.25)
    assert second.events.running is None


def test_completions_count_where_they_happen_and_cohorts_where_they_were_intended() -> None:
    fold = WindowFold()
    for sample in (answered(0, 0.9), failed(Outcome.TIMEOUT_TOTAL, 1, 0.1, done_at=3.5)):
        told(fold, sample)
    windows = fold.changed(4.0)
    assert [dict(w.events.completed) for w in windows] == [
        {},
        {Outcome.OK: 1},
        {},
        {Outcome.TIMEOUT_TOTAL: 1},
    ]
    assert windows[0].cohort.outcomes == {Outcome.OK: 1, Outcome.TIMEOUT_TOTAL: 1}


def test_the_cohort_knows_met_missed_excluded_by_the_slo() -> None:
    samples = [
        answered(0, 0.1),
        answered(1, 0.2, first_token_at=1.2, tenant="globex"),
        failed(Outcome.CANCELLED, 2, 0.3),
        failed(Outcome.SHED, 3, 0.4, sent_at=None, tenant="globex"),
    ]
    cohort = roll_up(folded(samples), 60.0)[0].cohort
    assert (cohort.met, cohort.missed, cohort.excluded) == (1, 2, 1)
    assert cohort.missed_by == {"ttft_ms": 2}
    assert cohort.attainment == pytest.approx(1 / 3)
    globex = cohort.tenants["globex"]
    assert (globex.offered, globex.missed, globex.shed) == (2, 2, 1)
    assert (cohort.output_tokens, cohort.met_tokens) == (10, 5)


def test_token_gaps_are_weighted_where_the_stream_says_so() -> None:
    one = answered(gaps=(0.4, 0.1), gap_tokens=(4, 1), chunks=3, output_tokens=6)
    cohort = folded([one])[0].cohort
    assert cohort.itl.count == 5
    assert cohort.itl.percentile(100) == pytest.approx(0.1, rel=1e-3)


def test_windows_of_different_times_do_not_merge() -> None:
    first, second = folded([answered(0, 0.1)])[:2]
    with pytest.raises(ValueError, match="roll_up"):
        first.merge(second)


def test_a_coarse_window_is_final_only_when_it_is_whole() -> None:
    windows = folded([answered(0, 0.1)], end=15.0)
    assert [window.final for window in roll_up(windows, 10.0)] == [True, False]
    assert [window.final for window in roll_up(windows, 10.0, ended=True)] == [True, True]
    with pytest.raises(ValueError, match="multiple"):
        roll_up(windows, 2.5)


def test_a_second_of_load_is_kept_in_few_bytes_a_request_once_it_is_settled() -> None:
    """Ten minutes of windows stay at hand for what comes late: a million requests and more."""
    fold, live, dice = WindowFold(), Live(None, duration=60.0), random.Random(1)

    def load(second: int) -> None:
        for index in range(100):
            at = second + index / 100
            fold.in_flight(at, 1)
            first, gaps = at + dice.lognormvariate(-3, 0.5), (0.01,) * 4
            told(fold, answered(index, at, first_token_at=first, gaps=gaps))
            fold.in_flight(at + 1e-4, 0)
        live.update(fold.changed(second + 2.0))

    load(0)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for second in range(1, 9):
            load(second)
        kept = (tracemalloc.get_traced_memory()[0] - before) / 800
    finally:
        tracemalloc.stop()

    assert kept < 300, "bytes a request; with lists of pairs it was over 500"


@given(
    st.lists(st.tuples(st.floats(0, 5), st.integers(0, 9)), min_size=1, max_size=40),
    st.sampled_from([1.0, 0.1, 0.3]),
)
def test_tokens_that_are_told_together_count_where_each_of_them_came(
    told: list[tuple[float, int]], width: float
) -> None:
    told.sort()
    one, together = WindowFold(width), WindowFold(width)
    for at, n in told:
        one.tokens(at, n)
    ats, counts = zip(*told, strict=True)
    together.all_tokens(ats, counts)
    assert [w.events for w in together.finish(5.0)] == [w.events for w in one.finish(5.0)]
