"""What every registered admission law is held to. A new law is covered by being registered."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedulers.admission.base import Action, AdmissionLaw, Answer, Ended, decided, laws
from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Decision, Reason
from schedulers.request import Request
from schedulers.signals import Signals
from schedulers.state import state_from_json, state_to_json
from tests.schedulers.law_cases import instances
from tests.schedulers.request_cases import a_request, idle, requests, signals

Law = AdmissionLaw[Any]
every_law = pytest.mark.parametrize("cls", laws.all().values(), ids=lambda cls: cls.name)
RESERVING = [
    cls
    for cls in laws.all().values()
    if cls().reserve(cls().start(), a_request(1), prefilled=False, now=1.0) is not None
]
few = settings(max_examples=25, deadline=None)
steps = st.lists(
    st.tuples(
        requests, signals, st.floats(-1.0, 20.0), st.sampled_from(OutcomeKind), st.booleans()
    ),
    min_size=1,
    max_size=12,
)


def over(request: Request, answer: Answer, at: float, kind: OutcomeKind, **given: Any) -> Ended:
    return Ended(
        request=request, reservation=answer.reservation, admitted_at=at, kind=kind, **given
    )


@every_law
@few
@given(data=st.data(), steps=steps)
def test_states_survive_json_and_equal_histories_give_equal_answers(
    cls: type[Law],
    data: st.DataObject,
    steps: list[tuple[Request, Signals | None, float, OutcomeKind, bool]],
) -> None:
    law: Any = data.draw(instances(cls))
    state, now = law.start(), 50.0
    for request, seen, pause, kind, ends in steps:
        now += pause
        line = json.dumps(state_to_json(state), allow_nan=False)
        restored = state_from_json(type(state), json.loads(line))
        assert restored == state
        before, (state, answer) = state, law.offer(state, request, seen, now)
        assert law.offer(restored, request, seen, now) == (state, answer)
        check(answer, now)
        told = decided(law, request, answer, now)
        assert Decision.from_json(json.loads(json.dumps(told.to_json()))).reason is answer.reason
        if answer.action is not Action.ADMIT:
            continue
        if ends:
            state = law.prefilled(state, answer.reservation, now)
            state = law.ended(state, over(request, answer, now, kind, output_tokens=99), now)
        assert type(state) is type(before)


def check(answer: Answer, now: float) -> None:
    """What any answer must be."""
    assert (answer.retry_after_s is not None) == (answer.action is Action.SHED)
    if answer.retry_after_s is not None:
        assert 0.0 < answer.retry_after_s < math.inf
    if answer.action is Action.HOLD:
        assert answer.until >= now
    reserved = answer.reservation
    assert all(math.isfinite(n) for n in (reserved.tokens, reserved.variance, reserved.prefill))


@every_law
@few
@given(data=st.data(), request=requests)
def test_a_request_larger_than_any_budget_is_served_or_refused_never_skipped_for_ever(
    cls: type[Law], data: st.DataObject, request: Request
) -> None:
    law: Any = data.draw(instances(cls))
    state, now = law.start(), 100.0
    for _ in range(20):
        state, answer = law.offer(state, request, idle(now), now)
        if answer.action is not Action.HOLD:
            return
        assert answer.until < math.inf, "nothing runs: nothing would ever end"
        now = answer.until + 1e-6
    pytest.fail(f"held {answer.reason} on an idle engine")


@every_law
def test_what_was_admitted_and_is_over_leaves_room_as_before(cls: type[Law]) -> None:
    law: Any = cls()
    state, now = law.start(), 0.0
    kinds = [OutcomeKind.OK, OutcomeKind.CANCELLED, OutcomeKind.REJECTED, OutcomeKind.OK]
    for round_ in range(300):
        now += 5.0
        request = a_request(round_ + 1, arrived_at=now)
        state, answer = law.offer(state, request, idle(now), now)
        assert answer.action is Action.ADMIT, f"round {round_}: {answer}"
        done = {"output_tokens": 400} if kinds[round_ % 4] is OutcomeKind.OK else {}
        ended = over(request, answer, now, kinds[round_ % 4], prefilled=round_ % 2 == 0, **done)
        if ended.prefilled:
            state = law.prefilled(state, answer.reservation, now)
        state = law.ended(state, ended, now + 1.0)


@pytest.mark.parametrize("cls", RESERVING, ids=lambda cls: cls.name)
@pytest.mark.parametrize("prefilled", [False, True])
def test_what_another_law_let_in_leaves_nothing_behind_when_it_is_over(
    cls: type[Law], prefilled: bool
) -> None:
    law: Any = cls()
    state, request = law.start(), a_request(1)
    counted, reservation = law.reserve(state, request, prefilled=prefilled, now=1.0)
    assert counted != state
    assert not (prefilled and reservation.prefill)
    over = Ended(
        request=request,
        reservation=reservation,
        admitted_at=0.5,
        kind=OutcomeKind.CANCELLED,
        prefilled=prefilled,
    )
    assert law.ended(counted, over, 2.0) == state


@pytest.mark.parametrize("name", ["kv_reserve", "three_budgets"])
def test_a_law_that_takes_over_lets_no_more_in_than_beside_what_is_there(name: str) -> None:
    law: Any = laws.get(name)()
    reading = idle(0.0, kv_tokens=4000)
    own, _ = law.offer(law.start(), a_request(1), reading, 0.0)
    taken, _ = law.reserve(law.start(), a_request(1), prefilled=False, now=0.0)
    for state in (own, taken):
        _, answer = law.offer(state, a_request(2, prompt_tokens=3000), reading, 0.0)
        assert answer.action is Action.HOLD


@pytest.mark.parametrize("name", ["watermark", "saturation", "kv_reserve"])
def test_a_reading_holds_for_three_polls_and_then_lower_tiers_are_held_and_told_so(
    name: str,
) -> None:
    law: Any = laws.get(name)()
    read = idle(100.0, kv_used=0.6)
    state, _ = law.offer(law.start(), a_request(tier="vip"), read, 100.0)
    batch = a_request(2, tier="batch", prompt_tokens=190_000)
    _, held = law.offer(state, batch, read, 103.0)
    _, late = law.offer(state, batch, read, 103.1)
    assert held.reason is not Reason.STALE_SIGNALS
    assert (late.action, late.reason) == (Action.HOLD, Reason.STALE_SIGNALS)
