"""Little's law as a check on the driver's own counting."""

from __future__ import annotations

import numpy as np

from measurement.column_builder import columns_of
from measurement.little import check
from measurement.outcome import Outcome
from measurement.sample import Sample
from tests.measurement.builders import answered, failed


def steady(n: int = 6000, rate: float = 20.0, seed: int = 4) -> list[Sample]:
    """Poisson arrivals that each stay 1 s on average; in flight 20 on average."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.uniform(0, n / rate, n))
    stay = rng.exponential(1.0, n)
    return [
        answered(i, float(t), sent_at=float(t), done_at=float(t + s))
        for i, (t, s) in enumerate(zip(at, stay, strict=True))
    ]


def test_the_law_holds_on_a_steady_run() -> None:
    found = check(columns_of(steady()), start=20.0, end=300.0)
    assert (found.status, found.note) == ("ok", "")
    assert found.in_flight is not None
    assert 15 < found.in_flight < 25
    assert found.ratio is not None
    assert found.tolerance is not None
    assert abs(found.ratio - 1) < found.tolerance
    assert found.to_json()["status"] == "ok"


def test_the_tolerance_is_5_percent_at_least_and_grows_as_the_run_shrinks() -> None:
    columns = columns_of(steady())
    long, short = (check(columns, start=20.0, end=end).tolerance for end in (300.0, 30.0))
    assert long is not None
    assert short is not None
    assert 0.05 <= long < short < 0.2


def test_it_holds_in_99_of_100_short_runs() -> None:
    found = [check(columns_of(steady(seed=i)), start=20.0, end=80.0).status for i in range(60)]
    assert found.count("ok") >= 59


def test_a_count_that_lost_requests_is_noticed() -> None:
    found = check(columns_of(steady()), start=20.0, end=300.0, counted=10.0)
    assert found.status == "off"
    assert "lost or counted twice" in found.note


def test_a_queue_that_grows_is_told_as_such() -> None:
    growing = [answered(i, i / 20, sent_at=i / 20, done_at=i / 20 + i / 20) for i in range(6000)]
    found = check(columns_of(growing), start=0.0, end=200.0)
    assert found.status == "off"
    assert "not steady" in found.note
    assert "from 0 to" in found.note or "from 1 to" in found.note


def test_too_short_a_run_is_not_checked() -> None:
    assert check(columns_of(steady()), start=20.0, end=22.0).status == "unknown"


def test_without_requests_there_is_nothing_to_check() -> None:
    shed = failed(Outcome.SHED, sent_at=None)
    for samples in ([], [shed]):
        assert check(columns_of(samples), start=0.0, end=10.0).status == "unknown"
    assert check(columns_of(steady()), start=10.0, end=10.0).ratio is None
