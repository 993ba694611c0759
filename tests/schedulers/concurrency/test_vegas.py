"""Vegas: the queue it estimates, its steps, its probe, and one cut for each overload."""

from __future__ import annotations

from typing import Any

import pytest

from schedulers.concurrency.base import Observation, OutcomeKind, laws
from schedulers.decision import Decision, Reason
from tests.schedulers.congestion import bulk

Vegas: Any = laws.get("vegas")


def spans(
    law: Any, means: list[float], *, in_flight: int = 200, refused: tuple[int, ...] = ()
) -> tuple[Any, list[Decision]]:
    """Twelve answers a span, over 1.1 s each; some spans begin with a refusal."""
    state, decisions, now = law.start(), [], 10.0
    for i, mean in enumerate(means):
        if i in refused:
            late = Observation(started_at=now, in_flight=in_flight, kind=OutcomeKind.REJECTED)
            state, _ = law.step(state, late, now)
        for _ in range(12):
            now += 0.1
            seen = Observation(started_at=now - mean, in_flight=in_flight, latency=mean)
            state, decision = law.step(state, seen, now)
            decisions += [decision] if decision else []
    return state, decisions


def test_the_first_span_only_sets_the_no_load_latency() -> None:
    state, decisions = spans(Vegas(), [0.4])
    assert state.least == pytest.approx(0.4)
    assert decisions == []


@pytest.mark.parametrize(
    ("mean", "after", "reason"),
    [
        pytest.param(0.4, 106, Reason.GROWN, id="no queue: six at once (log10 100 = 2: twelve)"),
        pytest.param(0.415, 102, Reason.GROWN, id="a queue of 4: one step"),
        pytest.param(0.43, 100, Reason.STEADY, id="a queue of 7: between alpha and beta"),
        pytest.param(0.5, 98, Reason.RTT_INFLATED, id="a queue of 20: one step down"),
    ],
)
def test_a_span_moves_the_limit_by_the_queue_it_shows(
    mean: float, after: int, reason: Reason
) -> None:
    law = Vegas(initial=100)
    _, decisions = spans(law, [0.4, mean])
    expected = 112 if after == 106 else after
    assert (decisions[0].after, decisions[0].reason) == (expected, reason)


def test_nothing_moves_while_under_half_the_limit_is_in_flight() -> None:
    _, decisions = spans(Vegas(initial=100), [0.4, 0.4], in_flight=49)
    assert decisions[0].reason is Reason.APP_LIMITED


def test_a_refusal_takes_a_step_once_an_epoch() -> None:
    state, decisions = spans(Vegas(initial=100), [0.4, 0.4, 0.4], refused=(1,))
    assert decisions[0].reason is Reason.REJECTED_BY_ENGINE
    assert decisions[0].after == 98
    old = Observation(started_at=1.0, in_flight=50, kind=OutcomeKind.REJECTED)
    assert Vegas().step(state, old, 99.0) == (state, None)


def test_the_probe_takes_whatever_latency_there_is_as_no_load() -> None:
    law = Vegas(initial=2, max=2, probe=1)
    _, decisions = spans(law, [0.4] + [0.9] * 3)
    assert Reason.BASELINE_EXPIRED in {d.reason for d in decisions}
    state, _ = spans(law, [0.4] + [0.9] * 3)
    assert state.least == pytest.approx(0.9)


def test_it_stands_near_the_optimum_while_nothing_changes() -> None:
    assert bulk(Vegas(), tasks=4000, sigma=0.1, seed=1).of_optimum() > 0.8
