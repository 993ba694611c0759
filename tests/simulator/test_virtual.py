"""A replay answers for each arrival, in the order given, whatever became of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from simulator import profile
from simulator.virtual import Arrival, replay
from simulator.virtual_stream import stream
from tests.simulator.core.engines import config


def test_times_are_those_of_the_steps() -> None:
    only = replay([Arrival(5.0, 10, 3)], config(ingest_s=0.0))[0]
    assert only.ttft == pytest.approx(0.001)
    assert only.tpot == pytest.approx(0.001)
    assert only.e2e == pytest.approx(0.003)
    assert (only.finished, only.output_tokens, only.preemptions) == (True, 3, 0)


def test_one_token_has_no_time_per_output_token() -> None:
    assert replay([Arrival(0.0, 10, 1)], config())[0].tpot is None


def test_arrivals_may_come_in_any_order() -> None:
    late, early = replay([Arrival(2.0, 10, 2), Arrival(1.0, 10, 2)], config())
    assert (late.arrived_at, early.arrived_at) == (2.0, 1.0)
    assert (late.e2e, early.e2e) == (pytest.approx(0.002), pytest.approx(0.002))


def test_a_refusal_and_a_departure_are_told() -> None:
    load = [Arrival(0.0, 10, 50, cancelled_at=0.0105), Arrival(0.0, 10, 5), Arrival(0.0, 10, 5)]
    left, served, refused = replay(load, config(max_queued_requests=2))
    assert (left.finished, left.output_tokens, left.e2e) == (False, 10, None)
    assert served.finished
    assert (refused.refused, refused.finished, refused.ttft) == ("max_num_queued_reqs", False, None)


def test_a_profile_can_be_replayed_as_it_is() -> None:
    shipped = profile.load(profile.DEFAULT)
    only = replay([Arrival(0.0, 1000, 2)], shipped)[0]
    cost = shipped.cost
    assert only.ttft is not None
    prefill = cost.seconds(1000, 0, 1, 1000 * 500)
    assert only.ttft == pytest.approx(prefill + 0.010, abs=0.015), "a step and the ingest before it"
    assert only.tpot == pytest.approx(cost.seconds(1, 1000, 1, 0.0))


def test_a_stream_gives_what_a_replay_gives_and_keeps_only_what_is_open() -> None:
    load = [Arrival(0.001 * at, 10 + at % 7, 5 + at % 11) for at in range(300)]
    small = config(max_queued_requests=8, ingest_s=0.003)
    taken: list[int] = []

    def arriving() -> Iterator[Arrival]:
        for at, arrival in enumerate(load):
            taken.append(at)
            yield arrival

    found = []
    for one in stream(arriving(), small, seed=3):
        found.append(one)
        assert len(taken) - len(found) < 100, "nobody waits for the end to be told of"
    assert found == replay(load, small, seed=3)
    assert any(one.refused for one in found)


@pytest.mark.parametrize(
    "load", [[Arrival(1.0, 1, 1), Arrival(0.5, 1, 1)], [Arrival(0.0, 1, 1, cancelled_at=1.0)]]
)
def test_a_stream_takes_neither_late_ones_nor_those_that_leave(load: list[Arrival]) -> None:
    with pytest.raises(ValueError, match="out of order, or leaves"):
        list(stream(load, config()))
