"""What each ordering law does that no other does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from schedulers.ordering.base import Backlog, Waiting, choose, laws
from tests.schedulers.request_cases import a_request


def law(name: str, **parameters: Any) -> Any:
    cls: Any = laws.get(name)
    return cls(**parameters)


def wait(serial: int, **given: Any) -> Waiting:
    agents = {key: given.pop(key) for key in ("kv_tokens", "progress") if key in given}
    return Waiting(request=a_request(serial, **given), **agents)


def first(it: Any, queue: list[Waiting], now: float = 10.0) -> int:
    choice = choose(it, it.start(), queue, now)
    assert choice.index is not None
    return queue[choice.index].request.serial


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("fcfs", {}, 1),
        ("edf", {}, 2),
        ("sjf", {}, 3),
        ("hrrn", {}, 3),
        ("slack_density", {}, 3),
        ("slack_density", {"kappa": 0.0}, 1),
    ],
)
def test_each_looks_at_something_else(name: str, parameters: dict[str, Any], expected: int) -> None:
    queue = [
        wait(1, arrived_at=1.0, service_s=5.0, deadline_at=18.0),
        wait(2, arrived_at=2.0, service_s=4.0, deadline_at=17.0),
        wait(3, arrived_at=3.0, service_s=1.0, deadline_at=19.0),
    ]
    assert first(law(name, **parameters), queue) == expected


def test_what_could_not_be_in_time_is_dropped_where_the_policy_says_so() -> None:
    queue = [wait(1, service_s=5.0, deadline_at=14.0), wait(2, service_s=1.0, deadline_at=14.0)]
    dropped = choose(law("edf"), None, queue, 10.0)
    assert (dropped.drop, dropped.index) == ((0,), 1)
    assert choose(law("edf", drop_hopeless=False), None, queue, 10.0).drop == ()


def test_the_old_go_first_under_shortest_job() -> None:
    queue = [wait(1, arrived_at=0.0, service_s=50.0), wait(2, arrived_at=99.0, service_s=0.1)]
    assert first(law("sjf", ageing_s=60.0), queue, 59.0) == 2
    assert first(law("sjf", ageing_s=60.0), queue, 100.0) == 1


def test_progress_per_kv_starves_a_new_agent_as_its_source_does() -> None:
    queue = [wait(1, progress=0.0, kv_tokens=10), wait(2, progress=0.1, kv_tokens=100_000)]
    assert first(law("progress_per_kv"), queue) == 2


def drain(it: Any, make: dict[str, Any], rounds: int) -> Counter[str]:
    """Each flow has always two requests waiting; who goes, by flow, in tokens."""
    state, served, serial = it.start(), Counter[str](), 0
    queue: list[Waiting] = []
    for name, facts in [*make.items()] * 2:
        serial += 1
        one = wait(serial, tenant=name, **facts)
        state = it.arrived(state, one, Backlog.of(queue), 0.0)
        queue.append(one)
    for turn in range(rounds):
        choice = choose(it, state, queue, float(turn))
        assert choice.index is not None
        one = queue.pop(choice.index)
        state = it.left(state, one, Backlog.of(queue), float(turn))
        served[one.request.tenant] += one.request.prompt_tokens + 2 * one.request.output()
        state = it.ended(state, one, int(one.request.output()), float(turn))
        serial += 1
        back = wait(serial, **{**make[one.request.tenant], "tenant": one.request.tenant})
        state = it.arrived(state, back, Backlog.of(queue), float(turn))
        queue.append(back)
    return served


def test_backlogged_tenants_share_by_weight_whatever_their_sizes() -> None:
    flows = {
        "five": {"weight": 5.0, "prompt_tokens": 4000},
        "three": {"weight": 3.0, "prompt_tokens": 200},
        "two": {"weight": 2.0, "prompt_tokens": 1000, "max_tokens": 50},
    }
    served = drain(law("vtc"), flows, 4000)
    total = sum(served.values())
    shares = [served[name] / total for name in ("five", "three", "two")]
    assert shares == pytest.approx([0.5, 0.3, 0.2], abs=0.02)


def test_a_tenant_that_was_away_saves_nothing_up() -> None:
    it = law("vtc", bands=False)
    state = it.start()
    for turn in range(50):
        state = it.left(state, wait(turn, tenant="busy"), Backlog(), 0.0)
    busy = [wait(100 + i, tenant="busy") for i in range(3)]
    state = it.arrived(state, wait(200, tenant="new"), Backlog.of(busy), 0.0)
    queue = [*busy, *(wait(200 + i, tenant="new") for i in range(3))]
    order = []
    for _ in range(4):
        choice = choose(it, state, queue, 0.0)
        assert choice.index is not None
        one = queue.pop(choice.index)
        order.append(one.request.tenant)
        state = it.left(state, one, Backlog.of(queue), 0.0)
    assert order == ["busy", "new", "busy", "new"]


@pytest.mark.parametrize("name", ["priority", "vtc"])
def test_batch_gets_its_minimum_share_under_endless_vip_load(name: str) -> None:
    flows = {"v": {"tier": "vip"}, "b": {"tier": "batch"}}
    served = drain(law(name, batch_share=0.05), flows, 2000)
    assert served["b"] / sum(served.values()) == pytest.approx(0.05, abs=0.01)
    assert drain(law(name, batch_share=0.0), flows, 200)["b"] == 0


@pytest.mark.parametrize("name", ["priority", "vtc"])
def test_the_nth_batch_request_waits_no_longer_than_its_share_allows(name: str) -> None:
    """Bound: the cost of those up to it in its tier, over the share (all requests cost alike)."""
    it = law(name, batch_share=0.05)
    batch = [wait(i + 1, tier="batch", tenant="b") for i in range(4)]
    state, queue, gone = it.start(), list(batch), []
    for turn in range(200):
        queue.append(wait(1000 + turn, tier="vip", tenant="v"))
        choice = choose(it, state, queue, 0.0)
        assert choice.index is not None
        one = queue.pop(choice.index)
        state = it.left(state, one, Backlog.of(queue), 0.0)
        if one.request.tier == "batch":
            gone.append(turn)
    assert len(gone) == 4
    assert all(turn <= (place + 1) / 0.05 + place + 1 for place, turn in enumerate(gone))


def test_the_least_served_of_late_goes_first_and_the_past_fades() -> None:
    it = law("las", half_life_s=10.0)
    state = it.left(it.start(), wait(1, tenant="a"), Backlog(), 0.0)
    queue = [wait(2, tenant="a"), wait(3, tenant="b", arrived_at=5.0)]
    assert choose(it, state, queue, 1.0).index == 1
    faded = it.left(state, wait(4, tenant="b", prompt_tokens=10, max_tokens=1), Backlog(), 200.0)
    assert choose(it, faded, queue, 200.0).index == 0
