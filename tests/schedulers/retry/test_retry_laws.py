"""Retry laws: what all of them are held to, and what each does."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.problem import DocumentError
from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Reason
from schedulers.retry.base import RETRYABLE, Failure, RetryLaw, decided, laws
from schedulers.state import state_from_json, state_to_json
from tests.schedulers.law_cases import instances

every_law = pytest.mark.parametrize("cls", laws.all().values(), ids=lambda cls: cls.name)
WITH_BUDGET = ("full_jitter", "decorrelated")
failures = st.builds(
    Failure,
    kind=st.sampled_from(OutcomeKind),
    attempts=st.integers(1, 50),
    retry_after=st.none() | st.floats(0.0, 1e4) | st.sampled_from([math.nan, math.inf, -3.0]),
    previous_wait=st.none() | st.floats(0.0, 100.0),
    deadline_at=st.none() | st.floats(0.0, 300.0),
    safe=st.booleans(),
)
draws = st.floats(0.0, 1.0, exclude_max=True)


def law(name: str, **parameters: Any) -> Any:
    cls: Any = laws.get(name)
    return cls(**parameters)


def refused(attempts: int = 1, **given: Any) -> Failure:
    return Failure(kind=OutcomeKind.REJECTED, attempts=attempts, **given)


@every_law
@settings(max_examples=30, deadline=None)
@given(data=st.data(), steps=st.lists(st.tuples(failures, draws, st.booleans()), max_size=20))
def test_waits_are_sane_deadlines_hold_and_states_survive_json(
    cls: type[RetryLaw[Any]],
    data: st.DataObject,
    steps: list[tuple[Failure, float, bool]],
) -> None:
    it: Any = data.draw(instances(cls))
    state, now = it.start(), 100.0
    for failure, draw, well in steps:
        now += 0.25
        state, _ = it.offered(state, draw, now)
        state = it.succeeded(state, now) if well else state
        line = json.loads(json.dumps(state_to_json(state), allow_nan=False))
        restored = state_from_json(type(state), line)
        before, (state, verdict) = state, it.failed(state, failure, draw, now)
        assert restored == before
        assert it.failed(restored, failure, draw, now) == (state, verdict)
        json.dumps(decided(it, failure, verdict, now).to_json(), allow_nan=False)
        if verdict.wait_s is None:
            assert verdict.reason is not Reason.RETRIED
            continue
        assert 0.0 <= verdict.wait_s < math.inf
        assert failure.safe
        assert failure.kind in RETRYABLE
        assert failure.deadline_at is None or now + verdict.wait_s < failure.deadline_at


@pytest.mark.parametrize("name", WITH_BUDGET)
def test_retries_in_steady_state_stay_within_their_share(name: str) -> None:
    it = law(name, budget=0.1, reserve=10.0)
    state, retries = it.start(), 0
    for request in range(2000):
        state, _ = it.offered(state, 0.5, float(request))
        state, verdict = it.failed(state, refused(), 0.5, float(request))
        retries += verdict.wait_s is not None
    assert 200 <= retries <= 2000 * 0.1 + 10


@pytest.mark.parametrize("name", WITH_BUDGET)
def test_retry_after_is_a_floor_and_a_bad_one_is_cut(name: str) -> None:
    it = law(name, retry_after_cap_s=30.0)
    for draw in (0.0, 0.5, 0.999):
        _, verdict = it.failed(it.start(), refused(retry_after=7.0), draw, 0.0)
        assert 7.0 <= verdict.wait_s < 9.0
    _, verdict = it.failed(it.start(), refused(retry_after=3600.0), 0.0, 0.0)
    assert 30.0 <= verdict.wait_s < 31.0


def test_jitter_spreads_over_a_span_that_doubles_up_to_a_cap() -> None:
    it = law("full_jitter", base_ms=500, cap_ms=4000)
    spans = [
        it.failed(it.start(), refused(attempts), 0.999999, 0.0)[1].wait_s
        for attempts in range(1, 6)
    ]
    assert spans == pytest.approx([0.5, 1.0, 2.0, 4.0, 4.0], rel=1e-3)
    assert it.failed(it.start(), refused(), 0.0, 0.0)[1].wait_s == 0.0


def test_decorrelated_waits_grow_from_the_wait_before() -> None:
    it = law("decorrelated", base_ms=500, cap_ms=30_000)
    assert it.failed(it.start(), refused(previous_wait=4.0), 0.5, 0.0)[1].wait_s == 6.25
    assert it.failed(it.start(), refused(previous_wait=None), 0.0, 0.0)[1].wait_s == 0.5


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (refused(6), Reason.ATTEMPTS_SPENT),
        (refused(safe=False), Reason.NOT_RETRYABLE),
        (refused(deadline_at=0.1), Reason.PAST_DEADLINE),
        (Failure(kind=OutcomeKind.CANCELLED, attempts=1), Reason.NOT_RETRYABLE),
    ],
)
def test_what_speaks_against_a_retry_is_told(failure: Failure, reason: Reason) -> None:
    it = law("full_jitter")
    assert it.failed(it.start(), failure, 0.9, 0.0)[1].reason is reason


def test_a_client_refuses_itself_in_the_measure_in_which_the_engine_does() -> None:
    it = law("client_throttle", k=2.0)
    state, own = it.start(), 0
    for request in range(1000):
        now = request * 0.01
        state, reason = it.offered(state, (request * 0.618) % 1.0, now)
        own += reason is Reason.THROTTLED
        if reason is None and request % 5 == 0:
            state = it.succeeded(state, now)
    assert 500 < own < 900
    for request in range(2000):
        now = 100.0 + request * 0.1
        state, reason = it.offered(state, (request * 0.618) % 1.0, now)
        if reason is None:
            state = it.succeeded(state, now)
    assert it.chance(state) == 0.0, "it recovers once all succeeds"


def test_none_never_comes_back() -> None:
    it = law("none")
    assert it.failed(None, refused(), 0.5, 0.0)[1].wait_s is None


def test_a_base_above_the_cap_is_refused() -> None:
    with pytest.raises(DocumentError, match="must not be above cap_ms"):
        law("full_jitter", base_ms=5000, cap_ms=1000)
