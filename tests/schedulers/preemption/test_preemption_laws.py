"""Preemption laws: what all of them are held to, and what each does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedulers.decision import Reason
from schedulers.preemption.base import Mode, PreemptionLaw, Running, decided, laws
from tests.schedulers.law_cases import instances
from tests.schedulers.request_cases import a_request, requests

every_law = pytest.mark.parametrize("cls", laws.all().values(), ids=lambda cls: cls.name)
sequences = st.builds(
    Running,
    request=requests,
    scheduled_at=st.floats(0.0, 100.0),
    kv_tokens=st.integers(0, 200_000),
    output_tokens=st.integers(0, 8000),
    preemptions=st.integers(0, 5),
)


def law(name: str, **parameters: Any) -> Any:
    cls: Any = laws.get(name)
    return cls(**parameters)


def runs(serial: int, **given: Any) -> Running:
    own = {"scheduled_at": float(serial), "kv_tokens": 1000}
    keys = ("scheduled_at", "kv_tokens", "output_tokens", "preemptions")
    own |= {key: given.pop(key) for key in keys if key in given}
    return Running(request=a_request(serial, **given), **own)  # type: ignore[arg-type]


@every_law
@settings(max_examples=30, deadline=None)
@given(data=st.data(), running=st.lists(sequences, min_size=1, max_size=8))
def test_someone_always_goes_and_the_spared_only_when_all_are(
    cls: type[PreemptionLaw], data: st.DataObject, running: list[Running]
) -> None:
    it: Any = data.draw(instances(cls))
    victim = it.choose(running, 100.0)
    assert it.choose(list(running), 100.0) == victim
    spared = [it.spared(one) for one in running]
    assert not spared[victim.index] or all(spared)
    assert (victim.reason is Reason.ALL_IMMUNE) == all(spared)
    json.dumps(decided(it, running, victim, 100.0).to_json(), allow_nan=False)


@given(
    running=st.lists(sequences, min_size=1, max_size=8),
    keys=st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=8, max_size=8), max_size=2),
    immunity=st.sampled_from([0.1, 0.8, 1.0]),
)
def test_the_largest_of_those_not_spared_goes_and_of_equals_the_last(
    running: list[Running], keys: list[list[float]], immunity: float
) -> None:
    it = law("lifo", immunity=immunity)
    places = {id(one): place for place, one in enumerate(running)}
    columns = [lambda one, column=column: column[places[id(one)]] for column in keys]
    victim = it.victim(running, Reason.LAST_IN, *columns)

    def rank(place: int) -> tuple[float, ...]:
        one = running[place]
        return (*(column[place] for column in keys), one.scheduled_at, place)

    order = sorted(range(len(running)), key=rank, reverse=True)
    left = [place for place in order if not it.spared(running[place])]
    assert victim.index == (left or order)[0]
    before = order.index(victim.index) if left else len(running)
    assert victim.inputs["spared"] == before


@every_law
def test_nobody_to_choose_from_is_a_fault_of_the_host(cls: type[PreemptionLaw]) -> None:
    with pytest.raises(ValueError, match="nobody runs"):
        cls().choose([], 0.0)


@pytest.mark.parametrize(
    ("name", "serial"),
    [("lifo", 4), ("lowest_priority", 2), ("least_progress", 3), ("most_slack", 2)],
)
def test_each_law_has_its_own_victim(name: str, serial: int) -> None:
    running = [
        runs(1, tier="vip", kv_tokens=500),
        runs(2, tier="batch", kv_tokens=9000),
        runs(3, tier="normal", kv_tokens=100, deadline_at=12.0),
        runs(4, tier="vip", kv_tokens=2000),
    ]
    assert running[law(name).choose(running, 10.0).index].request.serial == serial


def test_who_is_nearly_done_is_spared_and_released_when_all_are() -> None:
    done = runs(2, expected_output=100.0, output_tokens=80)
    begun = runs(1, expected_output=100.0, output_tokens=79)
    assert law("lifo").choose([begun, done], 0.0).index == 0
    assert law("lifo", immunity=1.0).choose([begun, done], 0.0).index == 1
    assert law("lifo").choose([done, done], 0.0).reason is Reason.ALL_IMMUNE


def test_each_preemption_makes_the_next_less_likely() -> None:
    running = [runs(1, tier="batch", preemptions=2), runs(2, tier="batch")]
    assert law("most_slack").choose(running, 10.0).index == 1


def test_swapping_is_chosen_where_the_context_is_long_enough_to_pay() -> None:
    it = law("lifo", prefill_rate=8000.0, kv_bytes=131_072.0, bandwidth_gb_s=25.0, fixed_ms=20.0)
    short, long = runs(1, kv_tokens=100), runs(1, kv_tokens=20_000)
    assert it.choose([short], 0.0).mode is Mode.RECOMPUTE
    assert it.choose([long], 0.0).mode is Mode.SWAP
    assert law("lifo", mode="recompute").choose([long], 0.0).mode is Mode.RECOMPUTE
