"""The congestion plant and its clients: conservation, the knee, refusals, steps, sharing."""

from __future__ import annotations

from typing import Any

import pytest

from documents.problem import DocumentError
from schedulers.concurrency.base import ConcurrencyLaw, OutcomeKind, laws
from simulator.plants import measures as m
from simulator.plants.congestion import Congestion, Step
from simulator.plants.run import Load, run
from simulator.plants.work import Work

CONSTANT = Work(dist="constant")


def fixed(limit: int) -> ConcurrencyLaw[Any]:
    cls: Any = laws.get("fixed")
    law: ConcurrencyLaw[Any] = cls(size=limit)
    return law


@pytest.mark.parametrize(
    ("inside", "factor"), [(1, 1.0), (45, 1.0), (50, 50 / 45), (55, 55 / 45), (70, 3.5 / 0.4)]
)
def test_work_slows_at_the_knee_and_climbs_to_the_top(inside: int, factor: float) -> None:
    assert Congestion().slowness()(inside) == pytest.approx(factor)


@pytest.mark.parametrize("limit", [1, 9, 45, 50, 55, 60])
def test_throughput_is_what_the_slowness_says(limit: int) -> None:
    plant = Congestion()
    seen = run(plant, CONSTANT, ((fixed(limit), Load(tasks=limit * 40)),))
    expected = limit / (0.4 * plant.slowness()(limit))
    assert limit * 40 / seen.seconds == pytest.approx(expected, rel=1e-6)
    assert m.quantile(seen.clients[0].latencies, 0.5) == pytest.approx(limit / expected, rel=1e-6)


def test_every_task_ends_once_though_some_are_refused() -> None:
    seen = run(Congestion(), CONSTANT, ((fixed(90), Load(tasks=400)),))
    client = seen.clients[0]
    assert len(client.ended) == 400
    assert client.granted == 400 + len(client.refused)
    assert client.refused
    assert client.in_flight == 0
    assert client.ended == sorted(client.ended)


def test_a_refusal_takes_its_own_time_and_counts_no_work() -> None:
    plant = Congestion(capacity=1, knee=1, reject_at=2, base_s=1.0, top_s=3.0, reject_s=0.05)
    seen = run(plant, CONSTANT, ((fixed(3), Load(tasks=3)),), end_s=0.06)
    assert seen.refused == [0.05]
    assert seen.clients[0].ended == []


def test_the_route_adds_to_latency_and_not_to_the_load() -> None:
    plant = Congestion(network_s=0.2)
    seen = run(plant, CONSTANT, ((fixed(45), Load(tasks=450)),))
    assert m.quantile(seen.clients[0].latencies, 0.5) == pytest.approx(0.6)


def test_a_step_changes_what_it_names_and_leaves_the_rest() -> None:
    after = Step(at_s=5.0, capacity=22, knee=27, reject_at=34).of(Congestion(network_s=0.1))
    assert (after.capacity, after.knee, after.reject_at) == (22, 27, 34)
    assert (after.base_s, after.network_s) == (0.4, 0.1)


def test_a_halved_capacity_halves_the_throughput_from_its_instant_on() -> None:
    steps = (Step(at_s=20.0, capacity=10, knee=20, reject_at=60),)
    plant = Congestion(capacity=20, knee=20, reject_at=60, top_s=40.0)
    seen = run(plant, CONSTANT, ((fixed(20), Load()),), steps=steps, end_s=40.0)
    assert m.rate(seen, 5.0, 20.0) == pytest.approx(50.0, rel=0.03)
    assert m.rate(seen, 25.0, 40.0) == pytest.approx(25.0, rel=0.03)


def test_clients_share_in_proportion_to_what_they_have_inside() -> None:
    loads = ((fixed(10), Load()), (fixed(30), Load(joins_s=5.0)))
    seen = run(Congestion(), Work(sigma=0.3), loads, end_s=60.0)
    shares = [m.count(client.ended, 10.0, 60.0) for client in seen.clients]
    assert shares[1] / shares[0] == pytest.approx(3.0, rel=0.05)
    assert m.count(seen.clients[1].ended, 0.0, 5.0) == 0


def test_arrivals_wait_for_room_and_their_wait_counts() -> None:
    plant = Congestion(capacity=1, knee=1, reject_at=5, base_s=1.0, top_s=9.0)
    seen = run(plant, CONSTANT, ((fixed(1), Load(arrivals=(0.0, 0.0, 0.0))),))
    client = seen.clients[0]
    assert client.sojourns == pytest.approx([1.0, 2.0, 3.0])
    assert client.latencies == pytest.approx([1.0, 1.0, 1.0])


def test_the_same_seed_plays_the_same_run_and_another_does_not() -> None:
    def ended(seed: int) -> list[float]:
        load = Load(tasks=300)
        return run(Congestion(), Work(sigma=0.5), ((fixed(60), load),), seed=seed).ended

    assert ended(1) == ended(1)
    assert ended(1) != ended(2)


def test_a_law_sees_serials_and_grants_as_a_limiter_gives_them() -> None:
    found: list[tuple[int, int, int, OutcomeKind]] = []

    class Watching:
        def __getattr__(self, name: str) -> Any:
            return getattr(fixed(2), name)

        def step(self, state: Any, seen: Any, now: float) -> tuple[Any, None]:
            found.append((seen.serial, seen.granted, seen.in_flight, seen.kind))
            return state, None

    watching: Any = Watching()
    run(Congestion(), CONSTANT, ((watching, Load(tasks=3)),))
    ok = OutcomeKind.OK
    assert found == [(1, 2, 2, ok), (2, 3, 2, ok), (3, 3, 1, ok)]


@pytest.mark.parametrize(
    "wrong", [{"capacity": 60}, {"knee": 70}, {"top_s": 0.1}], ids=["capacity", "knee", "top"]
)
def test_a_plant_that_can_not_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DocumentError):
        Congestion(**wrong)
