"""What each admission law does that no other does."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from documents.problem import DocumentError
from schedulers.admission.base import Action, Answer, Ended, laws
from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Reason
from schedulers.request import Request
from tests.schedulers.request_cases import a_request, idle


def law(name: str, **parameters: Any) -> Any:
    cls: Any = laws.get(name)
    return cls(**parameters)


def ended(request: Request, answer: Answer, **given: Any) -> Ended:
    return Ended(request=request, reservation=answer.reservation, admitted_at=0.0, **given)


def test_a_bucket_reserves_at_once_and_gives_back_what_was_not_used() -> None:
    it = law("token_bucket", rate=100.0, burst=4000.0, estimate="max_tokens", max_wait_s=60.0)
    state, first = it.offer(it.start(), a_request(tenant="a"), None, 0.0)
    assert (first.action, first.reservation.tokens) == (Action.ADMIT, 2000.0)
    state, second = it.offer(state, a_request(2, tenant="a"), None, 0.0)
    state, third = it.offer(state, a_request(3, tenant="a"), None, 0.0)
    assert (second.action, third.action, third.until) == (Action.ADMIT, Action.HOLD, 20.0)
    state, other = it.offer(state, a_request(4, tenant="b"), None, 0.0)
    assert other.action is Action.ADMIT, "another tenant has a bucket of its own"
    state = it.ended(state, ended(a_request(tenant="a"), first, output_tokens=0), 0.0)
    _, again = it.offer(state, a_request(3, tenant="a", max_tokens=1), None, 0.0)
    assert again.inputs["level"] == pytest.approx(1000.0)
    state = it.ended(state, ended(a_request(2, tenant="a"), second, kind=OutcomeKind.REJECTED), 0.0)
    _, again = it.offer(state, a_request(3, tenant="a", max_tokens=1), None, 0.0)
    assert again.inputs["level"] == pytest.approx(3000.0), "a storm of 429 costs its tenant nothing"


def test_what_would_wait_too_long_for_its_tokens_is_shed_with_that_wait() -> None:
    it = law("token_bucket", rate=100.0, burst=2000.0, estimate="max_tokens", max_wait_s=5.0)
    state, _ = it.offer(it.start(), a_request(), None, 0.0)
    _, answer = it.offer(state, a_request(2), None, 0.0)
    assert (answer.action, answer.reason) == (Action.SHED, Reason.TENANT_BUDGET)
    assert answer.retry_after_s == pytest.approx(20.0)


def test_weights_scale_a_bucket() -> None:
    it = law("token_bucket", rate=100.0, burst=2000.0, estimate="max_tokens")
    state, _ = it.offer(it.start(), a_request(weight=2.0), None, 0.0)
    _, answer = it.offer(state, a_request(2, weight=2.0), None, 0.0)
    assert answer.action is Action.ADMIT


def test_watermarks_take_by_tier_and_let_go_below_where_they_rose() -> None:
    it = law("watermark", yellow_quota=1)
    state = it.start()
    asked = [("vip", 0.9), ("normal", 0.9), ("normal", 0.82), ("normal", 0.79), ("normal", 0.79)]
    seen = []
    for at, (tier, use) in enumerate(asked):
        reading = idle(float(at), kv_used=use, running=5)
        state, answer = it.offer(state, a_request(tier=tier), reading, float(at))
        seen.append(str(answer.action))
    assert seen == ["admit", "shed", "shed", "admit", "admit"]
    reading = idle(9.0, kv_used=0.71, running=5)
    state, first = it.offer(state, a_request(), reading, 9.0)
    state, second = it.offer(state, a_request(2), reading, 9.0)
    _, batch = it.offer(state, a_request(3, tier="batch"), reading, 9.0)
    assert [str(a.action) for a in (first, second, batch)] == ["admit", "hold", "hold"]


def test_a_burst_between_two_readings_counts_as_waiting() -> None:
    it = law("saturation", queue_depth=5.0)
    reading = idle(0.0, running=128, kv_used=0.1)
    state, taken = it.start(), 0
    for serial in range(20):
        state, answer = it.offer(state, a_request(serial + 1, tier="vip"), reading, 0.5)
        taken += answer.action is Action.ADMIT
    assert taken == 5


def test_of_an_engine_that_tells_nothing_saturation_is_what_is_in_flight_and_said_so() -> None:
    it = law("saturation", blind_in_flight=10)
    state, taken = it.start(), []
    for serial in range(1, 13):
        state, answer = it.offer(state, a_request(serial, tier="vip"), None, 0.0)
        taken.append(answer)
    assert [answer.action for answer in taken] == [Action.ADMIT] * 10 + [Action.HOLD] * 2
    assert {answer.reason for answer in taken} == {Reason.NO_SIGNALS}
    state = it.ended(state, ended(a_request(), taken[0]), 1.0)
    assert it.offer(state, a_request(13, tier="batch"), None, 1.0)[1].action is Action.HOLD
    assert it.offer(state, a_request(13, tier="vip"), None, 1.0)[1].action is Action.ADMIT


def test_of_an_engine_that_has_gone_silent_one_at_a_time_is_taken_and_told_why() -> None:
    it, old = law("saturation"), idle(0.0)
    state, first = it.offer(it.start(), a_request(tier="batch"), old, 100.0)
    state, second = it.offer(state, a_request(2, tier="vip"), old, 100.0)
    assert (first.action, second.action) == (Action.ADMIT, Action.HOLD)
    assert first.reason is second.reason is Reason.STALE_SIGNALS
    assert second.until == 101.0
    state = it.ended(state, ended(a_request(), first), 100.5)
    assert it.offer(state, a_request(2, tier="vip"), old, 100.5)[1].action is Action.ADMIT


def test_a_breaker_opens_on_failures_probes_and_closes_on_successes() -> None:
    it = law("circuit_breaker", least=4, probes=2)
    state = it.start()
    _, plain = it.offer(state, a_request(), None, 0.0)
    for _ in range(4):
        state = it.ended(state, ended(a_request(), plain, kind=OutcomeKind.REJECTED), 1.0)
    state, shut = it.offer(state, a_request(), None, 2.0)
    assert (shut.action, shut.retry_after_s) == (Action.SHED, pytest.approx(4.0))
    answers = []
    for _ in range(3):
        state, answer = it.offer(state, a_request(), None, 6.5)
        answers.append(answer)
    assert [str(a.reason) for a in answers] == ["probe", "probe", "circuit_open"]
    for answer in answers[:2]:
        over = Ended(request=a_request(), reservation=answer.reservation, admitted_at=6.5)
        state = it.ended(state, over, 7.0)
    assert it.offer(state, a_request(), None, 7.0)[1].reason is Reason.ADMITTED


def test_an_answer_from_before_it_opened_does_not_close_a_breaker() -> None:
    it = law("circuit_breaker", least=1, probes=1)
    _, plain = it.offer(it.start(), a_request(), None, 0.0)
    state = it.ended(it.start(), ended(a_request(), plain, kind=OutcomeKind.REJECTED), 1.0)
    state, _ = it.offer(state, a_request(), None, 9.0)
    state = it.ended(state, ended(a_request(), plain), 9.1)
    assert it.offer(state, a_request(), None, 9.2)[1].reason is Reason.CIRCUIT_OPEN


def test_codel_leaves_a_burst_alone_and_sheds_faster_while_a_queue_stands() -> None:
    it = law("codel", target_ms=500, interval_ms=1000)
    state, shed_at = it.start(), []
    for tick in range(400):
        now = tick * 0.05
        waited = 2.0 if now > 5.0 else (0.6 if now < 0.9 else 0.1)
        state, answer = it.offer(state, a_request(arrived_at=now - waited), None, now)
        if answer.action is Action.SHED:
            shed_at.append(now)
    gaps = [b - a for a, b in pairwise(shed_at)]
    assert 6.0 <= shed_at[0] < 6.2
    assert gaps[0] > 2.5 * gaps[-1]


def test_a_reserve_leaves_room_for_vip_that_batch_may_not_take() -> None:
    it = law("kv_reserve", z=0.0)
    reading = idle(0.0, kv_tokens=10_000, max_running=100, prefill_rate=1e6)
    state, taken = it.start(), {}
    for tier in ("batch", "normal", "vip"):
        answer = None
        while answer is None or answer.action is Action.ADMIT:
            request = a_request(tier=tier, prompt_tokens=80, expected_output=20.0)
            state, answer = it.offer(state, request, reading, 0.0)
            taken[tier] = taken.get(tier, 0) + (answer.action is Action.ADMIT)
    assert answer is not None
    assert answer.reason is Reason.KV_CEILING
    assert taken == {"batch": 66, "normal": 14, "vip": 10}


def test_a_reserve_learns_how_long_answers_are() -> None:
    it = law("kv_reserve", output_tokens=1000.0)
    state = it.start()
    first = it.offer(state, a_request(max_tokens=4000), idle(0.0), 0.0)[1].reservation.tokens
    for _ in range(100):
        state, answer = it.offer(state, a_request(max_tokens=4000), idle(0.0), 0.0)
        state = it.ended(state, ended(a_request(), answer, output_tokens=50), 0.0)
    last = it.offer(state, a_request(max_tokens=4000), idle(0.0), 0.0)[1].reservation
    assert (first, last.tokens) == (2000.0, pytest.approx(1050.0, abs=60.0))


def test_a_deadline_that_the_backlog_eats_up_is_told_early() -> None:
    it = law("three_budgets", compute_s=100.0)
    reading = idle(0.0, prefill_rate=1000.0)
    state, _ = it.offer(it.start(), a_request(prompt_tokens=5000), reading, 0.0)
    urgent = a_request(2, prompt_tokens=1000, deadline_at=5.9)
    _, late = it.offer(state, urgent, reading, 0.0)
    _, timely = it.offer(state, a_request(3, prompt_tokens=1000, deadline_at=6.1), reading, 0.0)
    assert (late.action, late.reason) == (Action.SHED, Reason.HOPELESS)
    assert timely.action is Action.ADMIT


def test_a_tenant_that_missed_too_often_must_have_time_to_spare() -> None:
    it = law("three_budgets")
    state, answer = it.offer(it.start(), a_request(), idle(0.0, prefill_rate=1000.0), 0.0)
    for late in (True, True):
        over = ended(a_request(), answer, late=late)
        state = it.ended(state, over, 0.0)
    near = a_request(2, prompt_tokens=1000, deadline_at=1.1)
    _, answer = it.offer(state, near, idle(0.0, prefill_rate=1000.0), 0.0)
    assert (answer.action, answer.reason) == (Action.SHED, Reason.TENANT_BUDGET)


def test_marks_out_of_order_are_refused() -> None:
    with pytest.raises(DocumentError, match="must not be above red"):
        law("watermark", yellow=0.9, red=0.8)
