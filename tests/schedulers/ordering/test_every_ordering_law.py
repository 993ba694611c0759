"""What every registered ordering law is held to. A new law is covered by being registered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.parse import build
from schedulers.admission.base import Ended
from schedulers.admission.base import laws as admissions
from schedulers.concurrency.base import OutcomeKind
from schedulers.ordering.base import Backlog, Motion, OrderingLaw, Waiting, choose, decided, laws
from schedulers.runtime.caps import Caps
from schedulers.runtime.waiting_room import Admitted, WaitingRoom
from schedulers.state import state_from_json, state_to_json
from schedulers.tiers import TIERS
from tests.schedulers.law_cases import instances
from tests.schedulers.request_cases import a_request, requests

Law = OrderingLaw[Any]
every_law = pytest.mark.parametrize("cls", laws.all().values(), ids=lambda cls: cls.name)
waiting = st.builds(
    Waiting, request=requests, kv_tokens=st.integers(0, 10_000), progress=st.floats(0.0, 1.0)
)


@every_law
@settings(max_examples=25, deadline=None)
@given(data=st.data(), queue=st.lists(waiting, min_size=1, max_size=10), draining=st.booleans())
def test_a_queue_is_emptied_in_an_order_that_its_state_repeats(
    cls: type[Law], data: st.DataObject, queue: list[Waiting], draining: bool
) -> None:
    law: Any = data.draw(instances(cls))
    state, now = law.start(), 150.0
    left: list[Waiting] = []
    for one in queue:
        state = law.arrived(state, one, Backlog.of(left), now)
        left.append(one)
    while left:
        restored = state_from_json(type(state), json.loads(json.dumps(state_to_json(state))))
        assert restored == state
        choice = choose(law, state, left, now)
        assert choose(law, restored, left, now) == choice
        assert all(law.hopeless(left[i], now) for i in choice.drop)
        told = decided(law, left, choice, now).to_json()
        assert told["inputs"]["waiting"] == len(left)
        if choice.index is None:
            assert len(choice.drop) == len(left)
            return
        assert choice.index not in choice.drop
        gone = left.pop(choice.index)
        state = law.left(state, gone, Backlog.of(left), now)
        if draining:
            state = law.ended(state, gone, 17, now)
        now += 0.5


@every_law
@settings(max_examples=25, deadline=None)
@given(
    data=st.data(),
    queue=st.lists(waiting, min_size=2, max_size=8),
    pause=st.floats(0.0, 300.0),
)
def test_who_is_refused_without_service_is_charged_nothing(
    cls: type[Law], data: st.DataObject, queue: list[Waiting], pause: float
) -> None:
    law: Any = data.draw(instances(cls))
    everybody = Backlog(frozenset("abc"), frozenset(TIERS))
    state, now = law.start(), 150.0
    *served, gone = queue
    for one in served:
        state = law.left(state, one, everybody, now)
    after = law.left(state, gone, everybody, now)
    charge, later = law.charge(state, after, gone, now), now + pause
    refused = after if charge is None else law.refused(after, gone, charge, later)
    never_went = law.ended(state, gone, None, later)
    for one in queue:
        rank = law.rank(never_went, one, later)
        assert law.rank(refused, one, later) == pytest.approx(rank, rel=1e-9, abs=2e-3, nan_ok=True)


@every_law
def test_a_hundred_refusals_leave_all_accounts_as_they_were(cls: type[Law]) -> None:
    room = WaitingRoom(build(admissions.get("always"), {}), cls(), Caps(), lambda: 0.5)
    for serial in range(1, 101):
        request = a_request(serial, tenant="abc"[serial % 3], tier=TIERS[serial % 2])
        room.join(Waiting(request=request), 0.0)
    for _ in range(100):
        went = room.next(None, 0.0)
        assert isinstance(went, Admitted)
        over = Ended(
            request=went.request,
            reservation=went.reservation,
            admitted_at=went.at,
            kind=OutcomeKind.REJECTED,
            prefilled=False,
        )
        room.ended(went, over, 0.0)
    assert len(room) == 0
    assert numbers(state_to_json(room.laws.order)) == pytest.approx([0.0] * 3, abs=1e-6)


def numbers(state: Any) -> list[float]:
    """The largest three that stand in it."""
    found = [0.0] * 3
    for part in state.values() if isinstance(state, dict) else [state]:
        found += numbers(part) if isinstance(part, dict) else [abs(part or 0.0)]
    return sorted(found)[-3:]


@every_law
def test_equals_keep_the_order_in_which_they_came(cls: type[Law]) -> None:
    law: Any = cls()
    queue = [Waiting(request=a_request(serial, deadline_at=None)) for serial in (3, 1, 2)]
    choice = choose(law, law.start(), queue, 1.0)
    assert choice.index is not None
    assert queue[choice.index].request.serial == 1


@every_law
def test_a_law_whose_ranks_do_not_move_may_be_kept_in_a_heap(cls: type[Law]) -> None:
    law: Any = cls()
    one = Waiting(request=a_request(service_s=0.5, deadline_at=90.0), progress=0.5, kv_tokens=100)
    now, later = (law.rank(law.start(), one, at) for at in (1.0, 80.0))
    assert law.motion is not Motion.STANDS or now == later
