"""Steady state: known starts are found, noise is left whole, and what never settles is told so."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from measurement.column_builder import columns_of
from measurement.mser import settling
from measurement.sample import Sample
from measurement.steady import detect
from tests.measurement.builders import answered

Series = NDArray[np.float64]


def noise(n: int, phi: float, rng: np.random.Generator) -> Series:
    """Autocorrelated, mean 0, standard deviation 1."""
    found = np.zeros(n)
    for at, shock in enumerate(rng.normal(size=n)):
        found[at] = phi * found[at - 1] + shock
    return found * math.sqrt(1 - phi * phi)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_a_steady_series_is_left_whole(phi: float) -> None:
    rng = np.random.default_rng(7)
    found = [settling(100 + 10 * noise(800, phi, rng)).start for _ in range(60)]
    assert sum(start != 0 for start in found) <= 2


@pytest.mark.parametrize("phi", [0.0, 0.9])
@pytest.mark.parametrize("level", [0.4, 3.0])
def test_a_known_start_is_cut_where_it_ends(phi: float, level: float) -> None:
    rng = np.random.default_rng(8)
    start = np.where(np.arange(800) < 200, level, 1.0)
    found = [settling(100 * start + 5 * noise(800, phi, rng)).start for _ in range(40)]
    assert all(start is not None and 195 <= start <= 400 for start in found)
    assert np.median([start for start in found if start is not None]) <= 215


def test_a_decay_is_cut_after_most_of_it_is_gone() -> None:
    rng = np.random.default_rng(9)
    decay = 100 * np.exp(-np.arange(1_000) / 50)
    found = [settling(100 + decay + 3 * noise(1_000, 0.5, rng)).start for _ in range(40)]
    assert all(start is not None and 100 <= start <= 400 for start in found)


def test_a_queue_that_grows_is_never_steady() -> None:
    rng = np.random.default_rng(10)
    found = settling(np.arange(1_000) + 10 * noise(1_000, 0.5, rng))
    assert found.start is None
    assert "still moves" in found.because


@pytest.mark.parametrize("values", [[], [1.0] * 3, [4.0] * 500])
def test_what_does_not_vary_is_left_whole(values: list[float]) -> None:
    assert settling(values).start == 0


def served(at: float, ttft: float, index: int, gap: float = 0.02) -> Sample:
    last = at + ttft + 10 * gap
    return answered(
        index,
        at,
        first_token_at=at + ttft,
        last_token_at=last,
        done_at=last,
        output_tokens=11,
    )


def cold(settles_at: float, *, growth: float = 0.0) -> list[Sample]:
    """A minute at 20 a second: TTFT is ten times its level until ``settles_at``."""
    rng = np.random.default_rng(11)
    instants = np.cumsum(rng.exponential(0.05, 1_200))
    return [
        served(
            float(at),
            (1.0 if at < settles_at else 0.1) * float(rng.lognormal(0, 0.3)) + growth * float(at),
            index,
            0.02 * float(rng.lognormal(0, 0.1)),
        )
        for index, at in enumerate(instants)
        if at < 60
    ]


def test_a_cold_start_is_cut_and_explained() -> None:
    found = detect(columns_of(cold(12.0)), duration=60.0)
    assert found.cut is not None
    assert 12 <= found.cut <= 15
    assert found.because.startswith(f"cut at {found.cut:g} s, where the last series settles")
    assert "TTFT at 12 s" in found.because
    assert {row.name for row in found.series} == {"in flight", "TTFT", "TPOT"}


def test_a_run_without_a_start_is_not_cut() -> None:
    found = detect(columns_of(cold(0.0)), duration=60.0)
    assert found.cut == 0
    assert "steady from the start" in found.because


def test_an_overloaded_run_has_no_steady_part() -> None:
    found = detect(columns_of(cold(0.0, growth=0.1)), duration=60.0)
    assert found.cut is None
    assert "no steady part" in found.because
    assert "TTFT" in found.because


def test_a_closed_loop_is_judged_by_completions_since_its_slots_fix_what_is_in_flight() -> None:
    found = detect(columns_of(cold(12.0)), duration=60.0, closed_loop=True)
    names = {row.name for row in found.series}
    assert "completions" in names
    assert "in flight" not in names


def test_a_short_run_is_told_to_be_too_short() -> None:
    assert detect(columns_of(cold(0.0)[:99]), duration=60.0).cut is None
    assert "too short" in detect(columns_of([]), duration=5.0).because
