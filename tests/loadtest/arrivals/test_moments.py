"""Every arrival process has the moments it claims: the faults of other tools, held off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from documents.parse import build
from documents.problem import DocumentError
from loadtest.arrivals.base import ClosedLoop, OpenLoop, processes
from loadtest.schedule import Schedule, Slice
from loadtest.workloads.base import workloads

BINS = 1_200


def open_loop(name: str, **given: float) -> OpenLoop:
    process = build(processes.get(name), given)
    assert isinstance(process, OpenLoop)
    return process


def schedule(name: str, *, seed: int, duration: float, part: Slice, **given: float) -> Schedule:
    workload = build(workloads.get("fixed"), {})
    return Schedule(open_loop(name, **given), workload, duration=duration, seed=seed, part=part)


def union(name: str, workers: int, *, seed: int, rate: float, duration: float) -> np.ndarray:
    """The instants that N workers would send at, together."""
    slices = [
        schedule(name, seed=seed, duration=duration, part=Slice(k, workers), rate=rate)
        for k in range(workers)
    ]
    return np.sort([job.intended_at for part in slices for job in part.jobs()])


@pytest.mark.parametrize("workers", [1, 4, 10])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_poisson_counts_disperse_as_poisson_at_any_worker_count(workers: int, seed: int) -> None:
    rate, width = 50.0, 0.2
    arrivals = union("poisson", workers, seed=seed, rate=rate, duration=BINS * width)
    counts, _ = np.histogram(arrivals, bins=BINS, range=(0, BINS * width))
    index = counts.var(ddof=1) / counts.mean()
    low, high = stats.chi2.ppf([0.0005, 0.9995], BINS - 1) / (BINS - 1)
    assert low <= index <= high
    assert open_loop("poisson", rate=rate).dispersion() == 1.0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_poisson_gaps_are_exponential_and_nothing_is_pinned_to_whole_seconds(seed: int) -> None:
    arrivals = union("poisson", 1, seed=seed, rate=10.0, duration=600.0)
    assert stats.kstest(np.diff(arrivals), "expon", args=(0, 0.1)).pvalue > 0.0005
    assert np.mean(np.abs(arrivals - np.rint(arrivals)) < 1e-3) < 0.01


@pytest.mark.parametrize("workers", [1, 3, 10])
def test_constant_gaps_have_no_variation_at_any_worker_count(workers: int) -> None:
    gaps = np.diff(union("constant", workers, seed=1, rate=7.0, duration=600.0))
    assert gaps.std() / gaps.mean() == pytest.approx(0.0, abs=1e-9)
    assert gaps.mean() == pytest.approx(1 / 7.0)


def test_the_number_of_poisson_arrivals_is_itself_random() -> None:
    process = open_loop("poisson", rate=20.0)
    counts = [len(process.instants(60.0, np.random.default_rng(seed))) for seed in range(200)]
    assert np.var(counts, ddof=1) / np.mean(counts) == pytest.approx(1.0, abs=0.35)
    assert np.mean(counts) == pytest.approx(process.expected(60.0), rel=0.01)


@settings(deadline=None)
@given(
    name=st.sampled_from([name for name, cls in processes.all().items() if cls.open_loop]),
    rate=st.floats(0.01, 500),
    duration=st.floats(0.1, 30),
    longer=st.floats(0, 30),
    seed=st.integers(0, 2**63 - 1),
)
def test_instants_rise_within_the_duration_and_a_longer_run_starts_the_same(
    name: str, rate: float, duration: float, longer: float, seed: int
) -> None:
    process = open_loop(name, rate=rate)
    short = process.instants(duration, np.random.default_rng(seed))
    assert np.all(np.diff(short) >= 0)
    assert np.all((short >= 0) & (short < duration))
    if name == "constant":
        long = process.instants(duration + longer, np.random.default_rng(seed))
        assert np.array_equal(long[: len(short)], short)


def test_a_longer_poisson_run_starts_with_the_same_arrivals() -> None:
    process = open_loop("poisson", rate=50.0)
    short = process.instants(10.0, np.random.default_rng(4))
    long = process.instants(100.0, np.random.default_rng(4))
    assert long[: len(short)] == pytest.approx(short, abs=1e-9)


def test_a_closed_loop_pauses_longer_after_a_failure_so_as_not_to_hammer() -> None:
    process = build(processes.get("closed"), {"concurrency": 2, "think_s": 0.0})
    assert isinstance(process, ClosedLoop)
    assert process.pause(success=True) == 0.0
    assert process.pause(success=False) == 0.1
    assert process.expected(60.0) is None


@pytest.mark.parametrize("rate", [0, -1, float("inf"), "fast", None])
def test_a_rate_that_is_none_is_refused_by_name(rate: object) -> None:
    with pytest.raises(DocumentError, match="rate: must be a number above 0"):
        build(processes.get("poisson"), {"rate": rate})
