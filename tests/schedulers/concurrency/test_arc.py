"""ARC: one up, a tenth down, once a round trip."""

from __future__ import annotations

from typing import Any

import pytest

from schedulers.concurrency.base import Observation, OutcomeKind, laws
from schedulers.decision import Decision, Reason
from tests.schedulers.congestion import bulk

Arc: Any = laws.get("arc")


def trips(law: Any, latencies: list[float], *, in_flight: int = 500) -> tuple[Any, list[Decision]]:
    """One answer of each latency, two seconds apart: each ends a window."""
    state, decisions, now = law.start(), [], 10.0
    for latency in latencies:
        now += 2.0
        seen = Observation(started_at=now - latency, in_flight=in_flight, latency=latency)
        state, decision = law.step(state, seen, now)
        decisions += [decision] if decision else []
    return state, decisions


@pytest.mark.parametrize(
    ("latency", "after", "reason"),
    [
        pytest.param(0.5, 21, Reason.GROWN, id="at the mean: one more"),
        pytest.param(0.9, 18, Reason.RTT_INFLATED, id="far above it: a tenth less"),
    ],
)
def test_a_window_moves_the_limit(latency: float, after: int, reason: Reason) -> None:
    _, decisions = trips(Arc(initial=20), [0.5, latency])
    assert (decisions[0].after, decisions[0].reason) == (after, reason)


def test_within_the_deviation_it_stays() -> None:
    _, decisions = trips(Arc(initial=20, ewma=0.9), [0.5, 0.7, 0.69])
    assert decisions[-1].reason is Reason.STEADY


def test_it_grows_only_where_the_limit_was_reached() -> None:
    _, decisions = trips(Arc(initial=20), [0.5, 0.5], in_flight=19)
    assert decisions[0].reason is Reason.APP_LIMITED


def test_refusals_of_one_overload_cut_once() -> None:
    state, _ = trips(Arc(initial=20), [0.5])
    law = Arc(initial=20)
    refused = Observation(started_at=12.0, in_flight=20, kind=OutcomeKind.REJECTED)
    state, first = law.step(state, refused, 13.0)
    state, second = law.step(state, refused, 14.0)
    assert first is not None
    assert (first.after, first.reason, second) == (18, Reason.REJECTED_BY_ENGINE, None)


def test_it_starts_slowly_and_is_never_refused() -> None:
    seen = bulk(Arc(), tasks=2000, sigma=0.1, seed=1)
    assert 0.3 < seen.of_optimum() < 0.6
    assert seen.refused == 0
