"""A flow finds whom ``choose`` finds, whatever the law, and without asking of all each time."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.parse import build
from schedulers.admission.base import laws as admissions
from schedulers.ordering.base import Memoryless, Waiting, choose, laws
from schedulers.ordering.hrrn import Hrrn
from schedulers.ordering.sjf import Sjf
from schedulers.ordering.slack_density import SlackDensity
from schedulers.runtime.caps import Caps
from schedulers.runtime.flow import Flow
from schedulers.runtime.waiting_room import Admitted, WaitingRoom
from tests.schedulers.law_cases import parameters
from tests.schedulers.request_cases import a_request, requests

EVERY_LAW = [pytest.param(cls, id=name) for name, cls in laws.all().items()]
moves = st.lists(
    st.tuples(
        st.sampled_from(["comes", "comes", "comes", "leaves", "returns"]),
        requests,
        st.floats(0.0, 20.0),
        st.integers(0, 99),
    ),
    max_size=25,
)


def sound(one: Waiting) -> bool:
    """Ranks of requests whose size is no number have no order that could be the same."""
    return one.request.service_s is None or math.isfinite(one.request.service_s)


@pytest.mark.parametrize("cls", EVERY_LAW)
@given(data=st.data(), happened=moves)
def test_a_flow_has_next_whom_choosing_among_all_has_next(
    cls: Any, data: st.DataObject, happened: list[Any]
) -> None:
    law = build(cls, data.draw(parameters(cls)))
    state, flow, queue, now, gone = law.start(), Flow(), [], 0.0, []
    for serial, (what, request, pause, which) in enumerate(happened, 1):
        now += pause
        if what == "comes" or not queue:
            one = Waiting(request=dataclasses.replace(request, serial=serial))
            flow.add(one)
            queue.append(one)
        elif what == "leaves" or not gone:
            gone.append(queue.pop(which % len(queue)))
            flow.remove(gone[-1])
        else:
            back = gone.pop(which % len(gone))
            queue.append(back)
            queue.sort(key=lambda one: one.request.serial)
            flow.add(back)
            assert list(flow) == queue
        if not queue or not all(map(sound, queue)):
            continue
        among = queue[:1] if law.fifo_within_tenant else queue
        choice = choose(law, state, among, now)
        dropped = flow.hopeless(law, now)
        assert dropped is (among[choice.drop[0]] if choice.drop else None)
        if not choice.drop:
            assert choice.index is not None
            assert flow.first(law, state, now)[1] is among[choice.index]


@pytest.mark.parametrize("cls", EVERY_LAW)
@given(data=st.data(), request=requests, now=st.floats(-10.0, 500.0))
def test_nobody_is_hopeless_before_the_law_says(
    cls: Any, data: st.DataObject, request: Any, now: float
) -> None:
    law, one = build(cls, data.draw(parameters(cls))), Waiting(request=request)
    assert law.hopeless_from(one) <= now or not law.hopeless(one, now)


@pytest.mark.parametrize("size", [0.1, 0.3, 1e-9, 7.7])
def test_rounding_makes_nobody_hopeless_before_the_law_says(size: float) -> None:
    law = SlackDensity(margin_s=0.2)
    one = Waiting(request=a_request(service_s=size, deadline_at=1000.3))
    moment = 1000.3 - 0.2 - size - 1e-12
    for _ in range(100):
        assert law.hopeless_from(one) <= moment or not law.hopeless(one, moment)
        moment = math.nextafter(moment, math.inf)


def test_a_law_that_drops_and_does_not_say_from_when_is_asked_each_time() -> None:
    class Picky(Memoryless):
        def hopeless(self, one: Waiting, now: float) -> bool:
            return one.request.serial == 2 and now > 5.0

        def rank(self, state: None, one: Waiting, now: float) -> tuple[float, ...]:
            return (float(one.request.serial),)

    law, flow, two = Picky(), Flow(), Waiting(request=a_request(2))
    flow.add(Waiting(request=a_request(1)))
    flow.add(two)
    assert (flow.hopeless(law, 4.0), flow.hopeless(law, 6.0)) == (None, two)  # type: ignore[arg-type]


@pytest.mark.parametrize("waiting", [100, 1000])
def test_a_turn_asks_no_more_of_a_long_queue_than_of_a_short_one(waiting: int) -> None:
    asked: Counter[str] = Counter()

    class Counted(SlackDensity):
        def rank(self, state: None, one: Waiting, now: float) -> tuple[float, ...]:
            asked["rank"] += 1
            return super().rank(state, one, now)

        def hopeless(self, one: Waiting, now: float) -> bool:
            asked["hopeless"] += 1
            return super().hopeless(one, now)

    always: Any = build(admissions.get("always"), {})
    caps = Caps(total=5000, normal=5000)
    room = WaitingRoom(always, Counted(), caps, np.random.default_rng(1).random)
    for serial in range(1, waiting + 1):
        request = a_request(serial, deadline_at=60.0 + serial % 7, service_s=0.1)
        room.join(Waiting(request=request), 0.0)
    went = [room.next(None, 1.0) for _ in range(waiting)]
    assert all(isinstance(each, Admitted) for each in went)
    assert asked == {"rank": waiting}


@pytest.mark.parametrize("law", [Hrrn(), Sjf(ageing_s=3.0)], ids=lambda law: law.name)
@pytest.mark.parametrize("start", [0.0, 1.7e9])
def test_long_queues_with_many_equals_are_in_order_at_any_clock(law: Any, start: float) -> None:
    draw, flow, now = np.random.default_rng(7), Flow(), start
    queue: list[Waiting] = []
    for serial in range(1, 700):
        now += float(draw.choice([0.0, 0.1, 0.25, 1e-9]))
        arrived = now - float(draw.choice([0.0, 0.5]))
        request = a_request(
            serial, arrived_at=arrived, service_s=float(draw.choice([0.1, 0.2, 3.0]))
        )
        queue.append(Waiting(request=request))
        flow.add(queue[-1])
        while len(queue) > 150 or (queue and draw.random() < 0.4):
            first = queue[choose(law, None, queue, now).index or 0]
            assert flow.first(law, None, now)[1] is first
            gone = first if draw.random() < 0.8 else queue[int(draw.integers(len(queue)))]
            queue.remove(gone)
            flow.remove(gone)
            if queue and draw.random() < 0.1:
                now += 2.0
    assert len(queue) > 100
