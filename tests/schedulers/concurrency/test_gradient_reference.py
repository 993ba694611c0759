"""The source's gradient law: its arithmetic, and the collapse that its docs row tells of."""

from __future__ import annotations

from typing import Any

import pytest

from documents.parse import build
from schedulers.concurrency.base import Observation, OutcomeKind, laws
from schedulers.decision import Decision, Reason
from schedulers.state import state_to_json
from tests.schedulers.congestion import bulk

Gradient = laws.get("gradient_reference")


def answers(law: Any, latencies: list[float], *, at: float = 100.0) -> tuple[Any, list[Decision]]:
    state, decisions = law.start(), []
    for latency in latencies:
        seen = Observation(started_at=at - latency, in_flight=16, latency=latency)
        state, decision = law.step(state, seen, at)
        decisions += [decision] if decision else []
    return state, decisions


def exact(state: Any) -> float:
    return float(state_to_json(state)["limit"])


@pytest.mark.parametrize(
    ("latencies", "limit", "reason"),
    [
        pytest.param([0.4] * 25, 17.5, Reason.GROWN, id="no spread: grows by beta"),
        pytest.param([0.4] * 12 + [0.5] * 13, 16 * 0.8 + 1.5, Reason.RTT_INFLATED, id="a quarter"),
        pytest.param([0.1] + [9.0] * 24, 9.5, Reason.RTT_INFLATED, id="clamped at a half"),
        pytest.param([0.4] * 24, 16.0, None, id="a window too short"),
    ],
)
def test_one_window_of_answers(latencies: list[float], limit: float, reason: Reason | None) -> None:
    state, decisions = answers(Gradient(), latencies)
    assert exact(state) == pytest.approx(limit)
    assert [d.reason for d in decisions] == ([reason] if reason else [])


def test_a_decision_shows_what_went_into_it() -> None:
    _, decisions = answers(Gradient(), [0.4] * 12 + [0.5] * 13)
    assert decisions[0].inputs == pytest.approx(
        {"exact": 14.3, "least": 0.4, "median": 0.5, "gradient": 0.8}
    )


def test_the_fixed_point_is_beta_r_over_r_minus_one() -> None:
    state, _ = answers(Gradient(), ([0.4] * 12 + [0.5] * 13) * 60)
    assert exact(state) == pytest.approx(1.5 * 1.25 / 0.25, rel=0.01)


def test_every_refusal_cuts_so_twenty_leave_a_thousandth() -> None:
    law = build(Gradient, {"min": 1, "initial": 1000, "max": 1000})
    state = law.start()
    for i in range(20):
        seen = Observation(started_at=1.0, in_flight=20, kind=OutcomeKind.REJECTED)
        state, decision = law.step(state, seen, 2.0 + i)
        assert decision is not None
        assert decision.reason is Reason.REJECTED_BY_ENGINE
    assert 1000 * 0.7**20 < 0.8
    assert exact(state) == 1.0


def test_time_outs_carry_no_signal_as_in_the_source() -> None:
    law = Gradient()
    seen = Observation(started_at=0.0, in_flight=16, kind=OutcomeKind.TIMED_OUT, latency=60.0)
    assert law.step(law.start(), seen, 60.0) == (law.start(), None)


def test_the_smallest_latency_expires_and_the_congested_floor_takes_its_place() -> None:
    law = Gradient()
    state, _ = answers(law, [0.1], at=100.0)
    reasons = []
    for at in (700.0, 700.1):
        seen = Observation(started_at=at - 0.8, in_flight=16, latency=0.8)
        state, decision = law.step(state, seen, at)
        reasons.append(decision.reason if decision else None)
    assert reasons == [None, Reason.BASELINE_EXPIRED]
    assert state_to_json(state)["least"] == 0.8
    assert exact(state) == 16.0


def test_it_works_when_every_latency_is_the_same() -> None:
    seen = bulk(Gradient(), tasks=2000, sigma=0.0, seed=1)
    assert 0.80 < seen.of_optimum() < 0.88
    assert seen.refused == 0
    assert 44 <= seen.limits[-1] <= 50


@pytest.mark.parametrize(
    ("sigma", "most", "limit"), [(0.1, 0.15, 6), (0.3, 0.08, 3), (0.6, 0.08, 3)]
)
@pytest.mark.parametrize("seed", [1, 2])
def test_it_collapses_as_soon_as_latencies_spread(
    sigma: float, most: float, limit: int, seed: int
) -> None:
    seen = bulk(Gradient(), tasks=2000, sigma=sigma, seed=seed)
    assert seen.of_optimum() < most
    assert max(seen.limits[1000:]) <= limit
