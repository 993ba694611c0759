"""The live view: the same numbers as the exact summary, within a histogram's precision."""

from __future__ import annotations

import json

import numpy as np
import pytest

from measurement.column_builder import columns_of
from measurement.histogram import PRECISION, Histogram
from measurement.live import Live, percentiles_ms
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.summary import summarise
from measurement.verdict import judge_samples
from measurement.window import RETENTION, WindowFold
from tests.measurement.builders import answered, failed, slo, windows_of


def many(n: int = 2000) -> list[Sample]:
    rng = np.random.default_rng(8)
    rows = []
    for i in range(n):
        at, first, gap = i / 50, float(rng.lognormal(-2, 0.6)), float(rng.uniform(0.01, 0.03))
        rows.append(
            failed(Outcome.HTTP_5XX, i, at)
            if i % 97 == 5
            else failed(Outcome.SHED, i, at, sent_at=None)
            if i % 89 == 7
            else answered(
                i,
                at,
                first_token_at=at + first,
                last_token_at=at + first + 4 * gap,
                done_at=at + first + 4 * gap,
                gaps=(gap,) * 4,
            )
        )
    return rows


def test_totals_agree_with_the_exact_summary_within_precision() -> None:
    samples, under = many(), slo()
    live = Live(under, duration=40.0)
    live.update(windows_of(samples, under))
    totals = live.totals()
    exact = summarise(columns_of(samples), slo=under, duration=40.0).to_json()
    for same in ("offered", "outcomes", "attainment", "attainment_low", "goodput_rps",
                 "goodput_tokens_ps", "offered_rate", "effective_n"):  # fmt: skip
        assert totals[same] == exact[same], same
    assert totals["resolved"] == 2000
    for name in ("ttft_ms", "tpot_ms", "itl_ms", "e2e_ms", "send_lag_ms"):
        for percent in ("p50", "p95", "p99"):
            assert totals[name][percent] == pytest.approx(
                exact[name][percent], rel=1.01 * PRECISION
            )
        assert totals[name]["n"] == exact[name]["n"]
    assert totals["errors"] == sum(i % 97 == 5 for i in range(2000))
    assert totals["rejected"] == exact["outcomes"]["shed"]
    assert json.loads(json.dumps(totals, allow_nan=False)) == totals


def test_a_revision_replaces_what_its_window_gave_before() -> None:
    samples, under = many(500), slo()
    fold, live = WindowFold(slo=under), Live(under, duration=10.0)
    waiting: list[Sample] = []
    for sample in samples:
        fold.offered(sample.index, sample.tenant, sample.intended_at)
        waiting.append(sample)
        for done in [s for s in waiting if (s.done_at or 0) <= sample.intended_at]:
            fold.resolved(done)
            waiting.remove(done)
        live.update(fold.changed(sample.intended_at))
    for sample in waiting:
        fold.resolved(sample)
    live.update(fold.finish(12.0))
    whole = Live(under, duration=10.0)
    whole.update(windows_of(samples, under))
    assert live.totals() == whole.totals()
    assert live.verdict() == whole.verdict() == judge_samples(columns_of(samples), under)


def test_an_old_revision_that_comes_late_is_ignored() -> None:
    fold, live = WindowFold(), Live(None, duration=10.0)
    fold.offered(0, "acme", 0.5)
    old = fold.changed(1.0)
    fold.resolved(answered(0, 0.5))
    live.update(fold.changed(2.0))
    live.update(old)
    assert live.totals()["resolved"] == 1


def test_goodput_counts_windows_only_once_all_their_requests_have_an_outcome() -> None:
    fold, live = WindowFold(), Live(None, duration=10.0)
    for i in range(20):
        fold.offered(i, "acme", i / 10)
        if i < 15:
            fold.resolved(answered(i, i / 10))
    live.update(fold.changed(2.0))
    totals = live.totals()
    assert (totals["goodput_rps"], totals["pending"], totals["resolved"]) == (10.0, 5, 15)


def test_warm_up_windows_are_left_out() -> None:
    live = Live(None, duration=10.0, since=5.0)
    live.update(windows_of([answered(i, i / 10) for i in range(100)], None))
    assert live.totals()["offered"] == 50
    assert live.totals()["goodput_rps"] == 10.0


def test_a_long_run_keeps_recent_windows_only_and_all_counts() -> None:
    fold, live = WindowFold(), Live(None, duration=1e9)
    for i in range(4):
        at = i * RETENTION
        fold.offered(i, "acme", at)
        fold.resolved(answered(i, at))
        live.update(fold.changed(at + 1))
    assert len(live._recent) <= 2 * RETENTION + 2
    assert live.totals()["ttft_ms"]["n"] == live.totals()["offered"] == 4


def test_nothing_yet_is_null() -> None:
    totals = Live(slo(), duration=10.0).totals()
    assert (totals["offered"], totals["attainment"], totals["goodput_rps"]) == (0, None, None)
    assert totals["ttft_ms"]["p99"] is None


def test_in_flight_is_that_of_the_newest_window() -> None:
    fold, live = WindowFold(), Live(None, duration=10.0)
    fold.in_flight(0.0, 4)
    fold.in_flight(1.0, 7)
    live.update(fold.changed(2.0))
    assert live.totals()["in_flight"] == 7.0


def test_live_percentiles_obey_the_sample_size_rule() -> None:
    few = percentiles_ms(Histogram.of([0.1] * 100))
    assert few["p99"] is None
    assert few["rough"]["p99"] == pytest.approx(100, rel=PRECISION)
