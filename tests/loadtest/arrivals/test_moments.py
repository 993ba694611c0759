"""Every arrival process has the moments it claims: the faults of other tools, held off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from documents.parse import build
from documents.problem import DocumentError
from loadtest.arrivals.base import ClosedLoop, OpenLoop, processes
from loadtest.schedule import WHOLE, Schedule, Slice
from loadtest.workloads.base import workloads
from measurement.stimulus import dispersion_range

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


# Parameters of every open-loop process by a scale of its rate, drawn at random below.
GIVEN: dict[str, Callable[[float], dict[str, float]]] = {
    "constant": lambda rate: {"rate": rate},
    "poisson": lambda rate: {"rate": rate},
    "gamma": lambda rate: {"rate": rate, "burstiness": 0.3},
    "ramp": lambda rate: {"from_rate": 0.0, "to_rate": rate},
    "steps": lambda rate: {"from_rate": rate, "to_rate": 0.0, "levels": 4},
    "spike": lambda rate: {"base_rate": rate / 8, "spike_rate": rate, "spike_s": 2.0},
    "diurnal": lambda rate: {"night_rate": 0.0, "day_rate": rate, "cycle_s": 20.0},
}
VARYING = ("ramp", "steps", "spike", "diurnal")


def test_every_open_loop_process_is_tried_below() -> None:
    assert set(GIVEN) == {name for name, cls in processes.all().items() if cls.open_loop}


@settings(deadline=None)
@given(
    name=st.sampled_from(sorted(GIVEN)),
    rate=st.floats(0.01, 500),
    duration=st.floats(0.1, 30),
    longer=st.floats(0, 30),
    seed=st.integers(0, 2**63 - 1),
)
def test_instants_rise_within_the_duration_and_a_longer_run_starts_the_same(
    name: str, rate: float, duration: float, longer: float, seed: int
) -> None:
    process = open_loop(name, **GIVEN[name](rate))
    short = process.instants(duration, np.random.default_rng(seed))
    assert np.all(np.diff(short) >= 0)
    assert np.all((short >= 0) & (short < duration))
    assert 0 <= process.peak_rate(duration) <= rate * (1 + 1e-9)
    if name == "constant":
        long = process.instants(duration + longer, np.random.default_rng(seed))
        assert np.array_equal(long[: len(short)], short)


@pytest.mark.parametrize("name", sorted(GIVEN))
@pytest.mark.parametrize("workers", [2, 5])
def test_the_workers_of_any_process_send_its_one_schedule(name: str, workers: int) -> None:
    facts: dict[str, Any] = {"seed": 5, "duration": 30.0, **GIVEN[name](40.0)}
    whole = [(job.index, job.intended_at) for job in schedule(name, part=WHOLE, **facts).jobs()]
    parts = [schedule(name, part=Slice(k, workers), **facts) for k in range(workers)]
    sent = [(job.index, job.intended_at) for part in parts for job in part.jobs()]
    assert sorted(sent) == whole
    assert len(whole) > 100


@pytest.mark.parametrize("name", VARYING)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_changing_rate_is_poisson_once_its_curve_is_evened_out(name: str, seed: int) -> None:
    duration = 600.0
    process = open_loop(name, **GIVEN[name](40.0))
    even = process.evened(process.instants(duration, np.random.default_rng(seed)), duration)
    assert stats.kstest(np.diff(even), "expon").pvalue > 0.0005
    counts, _ = np.histogram(even, bins=int(even[-1] // 10))
    low, high = dispersion_range(1.0, len(counts))
    assert low <= counts.var(ddof=1) / counts.mean() <= high
    assert (process.cv(), process.dispersion()) == (1.0, 1.0)


@pytest.mark.parametrize("name", VARYING)
def test_a_changing_rate_has_as_many_arrivals_as_its_curve_has_area(name: str) -> None:
    duration = 100.0
    process = open_loop(name, **GIVEN[name](40.0))
    counts = [len(process.instants(duration, np.random.default_rng(seed))) for seed in range(200)]
    area = process.expected(duration)
    assert area is not None
    assert np.mean(counts) == pytest.approx(area, abs=4 * (area / 200) ** 0.5)
    assert np.var(counts, ddof=1) / np.mean(counts) == pytest.approx(1.0, abs=0.4)


def rates(name: str, edges: list[float], **given: float) -> np.ndarray:
    """Requests per second between the edges, over many seeds."""
    process = open_loop(name, **given)
    seeds, widths = 400, np.diff(edges)
    found = [process.instants(edges[-1], np.random.default_rng(seed)) for seed in range(seeds)]
    counts, _ = np.histogram(np.concatenate(found), bins=edges)
    return counts / widths / seeds


def test_a_ramp_climbs_in_a_straight_line_and_then_holds() -> None:
    found = rates("ramp", [0, 10, 20, 30, 40], from_rate=10, to_rate=40, ramp_s=30.0)
    assert found == pytest.approx([15, 25, 35, 40], rel=0.03)
    assert open_loop("ramp", from_rate=10, to_rate=40, ramp_s=30.0).peak_rate(10.0) == 20.0


def test_steps_hold_each_level_in_equal_parts_of_the_run() -> None:
    found = rates("steps", [0, 10, 20, 30, 40], from_rate=40, to_rate=10, levels=4)
    assert found == pytest.approx([40, 30, 20, 10], rel=0.03)
    held = rates("steps", [0, 5, 10, 40], from_rate=10, to_rate=30, levels=3, hold_s=5.0)
    assert held == pytest.approx([10, 20, 30], rel=0.03)


def test_a_spike_is_sharp_at_both_ends() -> None:
    facts = {"base_rate": 5.0, "spike_rate": 80.0, "spike_at_s": 10.0, "spike_s": 2.0}
    found = rates("spike", [0, 9, 10, 12, 13, 20], **facts)
    assert found == pytest.approx([5, 5, 80, 5, 5], rel=0.06)
    assert open_loop("spike", **facts).peak_rate(10.0) == 5.0
    assert open_loop("spike", **facts).peak_rate(60.0) == 80.0


def test_a_day_swings_from_its_night_to_its_noon_and_repeats() -> None:
    edges = [0.0, 1, 9, 11, 19, 21, 29, 31, 39, 40]
    found = rates("diurnal", edges, night_rate=2, day_rate=30, cycle_s=20.0)
    assert found[[2, 6]] == pytest.approx([30, 30], rel=0.05)
    assert found[[0, 4, 8]] == pytest.approx([2.1, 2.1, 2.1], rel=0.15)
    noon = rates("diurnal", [0.0, 1, 19, 20], night_rate=2, day_rate=30, starts_at=0.5)
    assert noon[[0, 2]] == pytest.approx([30, 30], rel=0.05)


@pytest.mark.parametrize("burstiness", [0.25, 0.5, 1.0, 4.0])
def test_gamma_gaps_have_the_burstiness_that_vllm_means(burstiness: float) -> None:
    process = open_loop("gamma", rate=20.0, burstiness=burstiness)
    arrivals = process.instants(2_000.0, np.random.default_rng(3))
    gaps = np.diff(arrivals)
    scale = 1 / (20.0 * burstiness)
    assert stats.kstest(gaps, "gamma", args=(burstiness, 0, scale)).pvalue > 0.0005
    assert process.cv() == pytest.approx(burstiness**-0.5)
    assert gaps.std() / gaps.mean() == pytest.approx(process.cv(), rel=0.05)
    assert len(arrivals) == pytest.approx(40_000, rel=0.05)
    assert (process.dispersion() == 1.0) is (burstiness == 1.0)


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
