"""slo_gradient: the percentile goes to its target, wherever the knee is."""

from __future__ import annotations

from typing import Any

import pytest

from documents.parse import build
from schedulers.concurrency.base import Observation, OutcomeKind, laws
from schedulers.decision import Decision, Reason
from simulator.plants.congestion import Congestion
from simulator.plants.measures import quantile
from simulator.plants.run import Load, run
from simulator.plants.work import Work

SloGradient: Any = laws.get("slo_gradient")


def windows(
    law: Any, latency: float, count: int, in_flight: int = 500
) -> tuple[Any, list[Decision]]:
    state, decisions, now = law.start(), [], 100.0
    for _ in range(count * law.window):
        now += latency
        seen = Observation(started_at=now - latency, in_flight=in_flight, latency=latency)
        state, decision = law.step(state, seen, now)
        decisions += [decision] if decision else []
    return state, decisions


@pytest.mark.parametrize(
    ("latency", "after", "reason"),
    [
        pytest.param(0.1, 100 * 1.2**0.5 + 2.5, Reason.GROWN, id="far under: clamped, headroom"),
        pytest.param(1.8, 100 * 0.5**0.5, Reason.RTT_INFLATED, id="twice over"),
        pytest.param(9.0, 100 * 0.5**0.5, Reason.RTT_INFLATED, id="clamped at a half"),
    ],
)
def test_one_window(latency: float, after: float, reason: Reason) -> None:
    _, decisions = windows(SloGradient(initial=100), latency, 1)
    assert decisions[0].inputs["exact"] == pytest.approx(after)
    assert decisions[0].reason is reason


def test_it_grows_only_where_the_limit_was_reached() -> None:
    _, decisions = windows(SloGradient(initial=100), 0.1, 2, in_flight=99)
    assert {d.reason for d in decisions} == {Reason.APP_LIMITED}


def test_requests_from_before_the_window_are_not_its_own() -> None:
    law = SloGradient(initial=100)
    state, _ = windows(law, 1.8, 1)
    old = Observation(started_at=1.0, in_flight=100, latency=50.0)
    assert law.step(state, old, 200.0) == (state, None)


def test_a_refusal_cuts_once_an_epoch() -> None:
    law = SloGradient(initial=100)
    seen = Observation(started_at=1.0, in_flight=100, kind=OutcomeKind.REJECTED)
    state, first = law.step(law.start(), seen, 2.0)
    assert first is not None
    assert first.after == 85
    assert law.step(state, seen, 3.0) == (state, None)


def test_on_a_gentle_slope_the_percentile_comes_to_the_target() -> None:
    plant = Congestion(capacity=20, knee=199, reject_at=200, base_s=0.4, top_s=4.0)
    law = build(SloGradient, {"target_ms": 1200, "headroom": 0.1})
    seen = run(plant, Work(sigma=0.1), ((law, Load()),), end_s=240.0)
    late = seen.clients[0].latencies[-4000:]
    assert quantile(late, 0.95) == pytest.approx(1.2, rel=0.15)
