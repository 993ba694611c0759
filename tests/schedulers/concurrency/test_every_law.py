"""What every registered concurrency law is held to. A new law is covered by being registered."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.fields import describe
from schedulers.concurrency.base import AgentLoad, ConcurrencyLaw, Observation, OutcomeKind
from schedulers.decision import Decision
from schedulers.law import Guarantee, breaks
from schedulers.state import state_from_json, state_to_json
from tests.schedulers.law_cases import BAD_LATENCIES, EVERY_LAW, histories, instances

Law = ConcurrencyLaw[Any]
few = settings(max_examples=25, deadline=None)  # laws × histories: cheap enough on a busy machine
every_law = pytest.mark.parametrize("cls", EVERY_LAW, ids=lambda cls: cls.name)


def that_promise(guarantee: Guarantee) -> pytest.MarkDecorator:
    kept = [cls for cls in EVERY_LAW if not breaks(cls, guarantee)]
    return pytest.mark.parametrize("cls", kept, ids=lambda cls: cls.name)


@every_law
@few
@given(data=st.data(), history=histories())
def test_the_limit_stays_within_its_bounds(
    cls: type[Law], data: st.DataObject, history: list[tuple[Observation, float]]
) -> None:
    law = data.draw(instances(cls))
    least, most = law.bounds()
    state = law.start()
    assert 1 <= least <= law.limit(state) <= most
    for seen, now in history:
        state, _ = law.step(state, seen, now)
        assert least <= law.limit(state) <= most


@every_law
@few
@given(data=st.data(), history=histories())
def test_a_state_survives_json_at_every_step(
    cls: type[Law], data: st.DataObject, history: list[tuple[Observation, float]]
) -> None:
    law = data.draw(instances(cls))
    state = law.start()
    for seen, now in history:
        line = json.dumps(state_to_json(state), allow_nan=False)
        restored = state_from_json(type(state), json.loads(line))
        assert restored == state
        state, decision = law.step(state, seen, now)
        assert law.step(restored, seen, now) == (state, decision)


@every_law
@few
@given(data=st.data(), history=histories())
def test_a_decision_tells_the_limits_that_held(
    cls: type[Law], data: st.DataObject, history: list[tuple[Observation, float]]
) -> None:
    law = data.draw(instances(cls))
    state = law.start()
    for seen, now in history:
        before = law.limit(state)
        state, decision = law.step(state, seen, now)
        after = law.limit(state)
        if decision is None:
            assert after == before
            continue
        assert (decision.before, decision.after, decision.at) == (before, after, now)
        assert (decision.law, str(decision.point)) == (cls.name, "concurrency")
        line = json.dumps(decision.to_json(), allow_nan=False)
        assert Decision.from_json(json.loads(line)).to_json() == decision.to_json()


@every_law
@few
@given(data=st.data(), history=histories())
def test_what_is_no_latency_or_from_a_backward_clock_changes_nothing(
    cls: type[Law], data: st.DataObject, history: list[tuple[Observation, float]]
) -> None:
    law = data.draw(instances(cls))
    state, now = law.start(), 0.0
    for seen, at in history:
        state, _ = law.step(state, seen, at)
        now = at
    for bad in BAD_LATENCIES:
        unread = Observation(started_at=now - 1.0, in_flight=10**6, latency=bad, ttft=bad)
        assert law.step(state, unread, now) == (state, None)
    for kind in OutcomeKind:
        for started, clock in ((now + 1.0, now), (math.nan, now), (now, math.nan), (0.0, math.inf)):
            seen = Observation(started_at=started, in_flight=10**6, kind=kind, latency=1.0)
            assert law.step(state, seen, clock) == (state, None)


@that_promise(Guarantee.NO_GROWTH_WHILE_APP_LIMITED)
@few
@given(data=st.data(), seconds=st.lists(st.floats(1e-3, 60.0), min_size=1, max_size=5))
def test_nothing_grows_while_traffic_stays_far_below_the_limit(
    cls: type[Law], data: st.DataObject, seconds: list[float]
) -> None:
    law = data.draw(instances(cls))
    state, now = law.start(), 100.0
    for latency in seconds * 40:
        limit = law.limit(state)
        now += latency
        quiet = Observation(
            started_at=now - latency, in_flight=max(0, limit // 2 - 1), latency=latency
        )
        state, _ = law.step(state, quiet, now)
        assert law.limit(state) <= limit


@that_promise(Guarantee.ONE_CUT_PER_EPOCH)
@few
@given(
    data=st.data(),
    burst=st.lists(
        st.tuples(st.floats(0.0, 10.0), st.sampled_from(["rejected", "timed_out"])), min_size=2
    ),
)
def test_one_overload_is_charged_once(
    cls: type[Law], data: st.DataObject, burst: list[tuple[float, str]]
) -> None:
    law = data.draw(instances(cls))
    state = law.start()
    now, after_first = 10.0, None
    for started, kind in burst:
        now += 0.001
        seen = Observation(started_at=started, in_flight=64, kind=OutcomeKind(kind), latency=0.05)
        state, _ = law.step(state, seen, now)
        after_first = law.limit(state) if after_first is None else after_first
    assert law.limit(state) == after_first


def keeps_no_growth_while_app_limited(law: Law) -> bool:
    """One request or agent at a time, as fast as the last: nothing is learned of a higher limit."""
    state = law.start()
    alone = AgentLoad(active=1, contexts=2000.0, kv_tokens=400_000, kv_used=0.1, hit_rate=1.0)
    for second in range(200):
        seen = Observation(started_at=float(second), in_flight=1, latency=0.5, agents=alone)
        state, _ = law.step(state, seen, second + 0.5)
    return law.limit(state) <= law.limit(law.start())


def keeps_one_cut_per_epoch(law: Law) -> bool:
    """Twenty refusals of requests that all started at one instant."""
    state, limits = law.start(), []
    for i in range(20):
        seen = Observation(started_at=1.0, in_flight=20 - i, kind=OutcomeKind.REJECTED)
        state, _ = law.step(state, seen, 2.0 + i / 1000)
        limits.append(law.limit(state))
    return limits[-1] == limits[0]


@every_law
def test_a_law_breaks_what_it_says_that_it_breaks_and_nothing_else(cls: type[Law]) -> None:
    shown = {
        Guarantee.NO_GROWTH_WHILE_APP_LIMITED: keeps_no_growth_while_app_limited(cls()),
        Guarantee.ONE_CUT_PER_EPOCH: keeps_one_cut_per_epoch(cls()),
    }
    assert shown == {guarantee: not breaks(cls, guarantee) for guarantee in Guarantee}


@every_law
def test_a_law_explains_itself(cls: type[Law]) -> None:
    assert cls.__module__.removesuffix(".law") == f"schedulers.concurrency.{cls.name}"
    assert cls.summary.endswith(".")
    assert len(cls.summary) < 200
    assert not math.isnan(cls().until(cls().start()))
    for info in describe(cls):
        assert info.help.endswith(".")
        assert not info.required, "a law works with its defaults"
        if info.kind in (int, float):
            assert None not in (info.minimum, info.maximum), f"{info.name} has no range"
