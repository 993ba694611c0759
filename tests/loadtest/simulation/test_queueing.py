"""The engine's own queue is in the law's order, however long it is, and few are asked for it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.parse import build
from loadtest.simulation.queueing import Queueing
from schedulers.admission.base import admit
from schedulers.admission.base import laws as admissions
from schedulers.ordering.base import Backlog, Waiting, laws
from schedulers.ordering.hrrn import Hrrn
from schedulers.ordering.sjf import Sjf
from schedulers.ordering.slack_density import SlackDensity
from schedulers.runtime.caps import Caps
from schedulers.runtime.deciding import Deciding
from schedulers.runtime.waiting_room import WaitingRoom
from simulator.core.hooks import View
from tests.schedulers.law_cases import parameters
from tests.schedulers.request_cases import a_request, requests
from tests.schedulers.runtime.test_flow import sound

EVERY_LAW = [pytest.param(cls, id=name) for name, cls in laws.all().items()]


def line_of(law: Any, roster: Any) -> tuple[Queueing, WaitingRoom]:
    always: Any = build(admissions.get("always"), {})
    room = WaitingRoom(always, law, Caps(), lambda: 0.5)
    return Queueing(room, roster, Deciding(lambda: 0.0, lambda _: None)), room


def view(serial: int, request: Any, emitted: int = 0) -> View:
    prompt = request.prompt_tokens
    return View(str(serial), request.tenant, 0.0, 0.0, prompt, emitted, 0, 0)


def anew(law: Any, state: Any, waiting: list[Waiting], now: float) -> Waiting:
    """Whom ranking all that wait has next: of each tenant and tier its first, where that counts."""
    among = sorted(waiting, key=lambda one: one.request.serial)
    if law.fifo_within_tenant:
        seen = [(one.request.band, one.request.tenant) for one in among]
        among = [one for at, one in enumerate(among) if seen.index(seen[at]) == at]
    ranks = [law.rank(state, one, now) for one in among]
    return among[ranks.index(min(ranks))]


@pytest.mark.parametrize("cls", EVERY_LAW)
@given(
    data=st.data(),
    came=st.lists(st.tuples(requests.filter(lambda r: sound(Waiting(request=r))), st.floats(0, 9))),
    goes=st.lists(st.tuples(st.booleans(), st.floats(0.0, 30.0), st.integers(0, 500)), max_size=12),
)
def test_the_line_is_in_the_order_that_ranking_all_gives(
    cls: Any, data: st.DataObject, came: list[Any], goes: list[Any]
) -> None:
    law = build(cls, data.draw(parameters(cls)))
    roster = {
        serial: dataclasses.replace(request, serial=serial)
        for serial, (request, _) in enumerate(came, 1)
    }
    line, room = line_of(law, roster)
    waiting: dict[int, Waiting] = {}

    def comes(serial: int, emitted: int) -> None:
        request = roster[serial]
        context = request.prompt_tokens + emitted
        waiting[serial] = Waiting(request=request, kv_tokens=context)
        line.joined(view(serial, request, emitted))

    now = 0.0
    for serial in data.draw(st.permutations(list(roster))):
        now += came[serial - 1][1]
        comes(serial, 0)
        if serial % 3 == 0:
            line.first(now)
    for again, pause, emitted in goes:
        now += pause
        if not waiting:
            break
        first = int(line.first(now))
        assert (
            waiting[first]
            is waiting[anew(law, room.laws.order, [*waiting.values()], now).request.serial]
        )
        gone = waiting.pop(first)
        line.left(str(first))
        room.laws.sent(gone, admit(), Backlog.of([*waiting.values()]), now)
        if again:
            comes(first, emitted)


@pytest.mark.parametrize(("cls", "each"), [(SlackDensity, 1), (Sjf, 2), (Hrrn, 8)])
@pytest.mark.parametrize("waiting", [100, 1600])
def test_a_turn_ranks_no_more_of_a_long_line_than_of_a_short_one(
    cls: Any, each: int, waiting: int
) -> None:
    asked: Counter[str] = Counter()

    class Counted(cls):  # type: ignore[misc]
        def rank(self, state: Any, one: Waiting, now: float) -> Any:
            asked["rank"] += 1
            return super().rank(state, one, now)

    roster = {
        serial: a_request(serial, arrived_at=serial * 0.01, service_s=0.1 + serial * 7 % 97)
        for serial in range(1, 2 * waiting + 1)
    }
    line, _ = line_of(Counted(), roster)
    for serial in range(1, waiting + 1):
        line.joined(view(serial, roster[serial]))
    line.first(100.0)
    asked.clear()
    for turn in range(waiting):
        line.left(line.first(100.0 + turn * 0.01))
        line.joined(view(waiting + turn + 1, roster[waiting + turn + 1]))
    assert asked["rank"] <= each * waiting
