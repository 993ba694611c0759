"""Gradient2: Netflix's arithmetic, and the drift that its docs row tells of."""

from __future__ import annotations

from typing import Any

import pytest

from schedulers.concurrency.base import Observation, OutcomeKind, laws
from schedulers.decision import Decision, Reason
from schedulers.span import Span
from tests.schedulers.congestion import bulk

Gradient2: Any = laws.get("gradient2")


def spans(law: Any, means: list[float], *, in_flight: int = 20) -> tuple[Any, list[Decision]]:
    """Twelve answers a span, over 1.1 s each."""
    state, decisions, now = law.start(), [], 0.0
    for mean in means:
        for _ in range(12):
            now += 0.1
            seen = Observation(started_at=now - mean, in_flight=in_flight, latency=mean)
            state, decision = law.step(state, seen, now)
            decisions += [decision] if decision else []
    return state, decisions


def test_while_latency_stands_still_the_limit_grows_by_a_fifth_of_the_queue() -> None:
    _, decisions = spans(Gradient2(), [0.4] * 3)
    assert [d.inputs["exact"] for d in decisions[:2]] == pytest.approx([20.8, 21.6])
    assert {d.reason for d in decisions} == {Reason.GROWN}


def test_three_times_the_latency_halves_the_limit_by_the_smoothing() -> None:
    law = Gradient2(min=1, initial=100)
    _, decisions = spans(law, [0.4] * 12 + [1.6], in_flight=130)
    before, after = decisions[-2].inputs["exact"], decisions[-1].inputs["exact"]
    assert before is not None
    assert after is not None
    assert after == pytest.approx(0.8 * before + 0.2 * (before * 0.5 + 4), rel=0.05)
    assert decisions[-1].reason is Reason.RTT_INFLATED


def test_half_the_limit_in_flight_is_needed_for_any_change() -> None:
    state, decisions = spans(Gradient2(), [0.4] * 3, in_flight=9)
    assert state.limit == 20
    assert {d.reason for d in decisions} == {Reason.APP_LIMITED}


def test_the_long_average_falls_fast_when_latency_has_halved() -> None:
    state, _ = spans(Gradient2(), [2.0] * 12 + [0.5] * 30)
    assert state.long < 1.1


def test_refusals_are_ignored_as_in_the_source() -> None:
    law = Gradient2()
    seen = Observation(started_at=0.0, in_flight=20, kind=OutcomeKind.REJECTED, latency=0.05)
    assert law.step(law.start(), seen, 1.0) == (law.start(), None)


def test_a_span_takes_a_second_and_ten_answers() -> None:
    span = Span()
    for i in range(9):
        span = span.add(0.5, i, float(i))
    assert not span.ready(9.0)
    assert span.add(0.5, 1, 9.0).ready(9.0)
    assert not Span(since=0.0, answers=50).ready(0.9)
    assert (span.mean, span.peak) == (0.5, 8)


def test_in_the_long_run_it_stands_past_the_knee() -> None:
    seen = bulk(Gradient2(), tasks=8000, sigma=0.1, seed=1)
    assert max(seen.limits[-2000:]) >= 55
    assert seen.of_optimum() < 0.85
