"""Pollaczek–Khinchine agrees with the queues whose waits are known, and with simulated ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurement.capacity.batching import Steps
from measurement.capacity.pollaczek_khinchine import Work, estimate, marginal_work, wait
from measurement.column_builder import columns_of
from measurement.moments import Moments
from tests.measurement.builders import answered


def exponential(mean: float) -> Work:
    return Work(mean, 2 * mean**2)


@given(st.floats(0.01, 0.99), st.floats(1e-3, 1e3))
def test_of_m_m_1_it_is_the_textbooks_wait(load: float, mean: float) -> None:
    assert wait(load / mean, exponential(mean)) == pytest.approx(load * mean / (1 - load))


@given(st.floats(0.01, 0.99), st.floats(1e-3, 1e3))
def test_of_m_d_1_it_is_half_of_that(load: float, mean: float) -> None:
    fixed = Work(mean, mean**2)
    assert wait(load / mean, fixed) == pytest.approx(load * mean / (2 * (1 - load)))


@pytest.mark.parametrize("servers", [2, 5, 64])
def test_of_m_m_c_it_is_erlangs(servers: int) -> None:
    offered = 0.8 * servers
    terms = [offered**k / math.factorial(k) for k in range(servers)]
    last = offered**servers / math.factorial(servers) / (1 - 0.8)
    expected = last / (sum(terms) + last) / (servers - offered)
    assert wait(offered, exponential(1.0), servers=servers) == pytest.approx(expected)


@pytest.mark.parametrize("sigma", [0.3, 1.0])
def test_of_m_g_1_it_is_what_a_simulated_queue_waits(sigma: float) -> None:
    rng = np.random.default_rng(3)
    n, load = 400_000, 0.6
    service = rng.lognormal(-(sigma**2) / 2, sigma, n)
    steps = service[:-1] - rng.exponential(1 / load, n - 1)
    walk = np.concatenate(([0.0], np.cumsum(steps)))
    waits = walk - np.minimum.accumulate(np.minimum(walk, 0))
    measured = Work(float(service.mean()), float((service**2).mean()))
    assert wait(load, measured) == pytest.approx(float(waits.mean()), rel=0.1)


def test_a_saturated_queue_has_no_mean_wait() -> None:
    found = estimate(1.0, exponential(1.0))
    assert found.value is None
    assert "saturation" in found.note


def test_an_estimate_says_how_far_the_measurement_is() -> None:
    found = estimate(0.5, exponential(1.0), measured=0.8)
    assert found.value == pytest.approx(1.0)
    assert found.off == pytest.approx(0.25)
    assert "Poisson arrivals" in found.assumes


def test_the_work_of_a_request_is_what_it_adds_to_steps() -> None:
    rows = [answered(0, prompt_tokens=100, output_tokens=10), answered(1, output_tokens=30)]
    work = marginal_work(Moments.of(columns_of(rows)), Steps(0.02, 0.001, 0.0001))
    each = np.array([100 * 1e-4 + 10 * 1e-3, 10 * 1e-4 + 30 * 1e-3])
    assert work is not None
    assert work.mean == pytest.approx(each.mean())
    assert work.square == pytest.approx((each**2).mean())
