"""The real-time host runs the same schedule as the virtual one, however late it wakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import profile
from simulator.core.config import EngineConfig
from simulator.core.engine import Engine
from simulator.core.request import Request
from simulator.core.step import Step
from simulator.realtime import RealTimeHost
from simulator.virtual import Arrival, replay
from tests.simulator.core.engines import config
from tests.simulator.fake_clock import FakeClock


@dataclass(slots=True)
class Heard:
    clock: FakeClock
    times: list[float]
    over: bool = False

    def token(self, *, last: bool) -> None:
        assert not self.over, "nothing is said after the last token"
        self.times.append(self.clock.now)
        self.over = last


def live(
    load: list[Arrival], engine: EngineConfig, late: Callable[[int], float], seed: int = 0
) -> tuple[list[dict[str, Any]], list[Heard], list[float]]:
    """The steps, what each listener heard, and how late each step was told."""
    clock = FakeClock(late)
    steps: list[dict[str, Any]] = []
    lags: list[float] = []

    def told(step: Step, lag: float) -> None:
        steps.append(step.record())
        lags.append(lag)

    host = RealTimeHost(
        Engine(engine, seed=seed), clock=clock.time, call_at=clock.call_at, on_step=told
    )
    heard = [Heard(clock, []) for _ in load]
    for place, arrival in enumerate(load):
        request = Request(str(place), arrival.prompt_tokens, arrival.output_tokens)
        clock.at(arrival.at, partial(host.submit, request, heard[place]))
    for place, arrival in enumerate(load):
        if arrival.left_at is not None:
            clock.at(arrival.left_at, partial(host.abort, str(place)))
    clock.run()
    return steps, heard, lags


def virtual(load: list[Arrival], engine: EngineConfig, seed: int = 0) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    replay(load, engine, seed=seed, on_step=lambda step: steps.append(step.record()))
    return steps


def poisson(count: int, rate: float) -> list[Arrival]:
    draw = np.random.default_rng(4)
    times = np.cumsum(draw.exponential(1 / rate, count))
    prompts = draw.integers(1, 6000, count)
    outputs = draw.integers(1, 300, count)
    return [
        Arrival(float(at), int(prompt), int(output))
        for at, prompt, output in zip(times, prompts, outputs, strict=True)
    ]


@pytest.mark.parametrize("late", [0.0, 0.0007, 0.03], ids=["on time", "a timer's grain", "behind"])
def test_both_hosts_run_the_same_steps_on_a_shipped_profile(late: float) -> None:
    load = poisson(80, rate=4.0)
    engine = profile.load(profile.DEFAULT).config(blocks=3000)
    steps, heard, _ = live(load, engine, lambda _: late)
    assert steps == virtual(load, engine)
    assert [len(each.times) for each in heard] == [arrival.output_tokens for arrival in load]


def arrivals(cancelled_at: st.SearchStrategy[float | None]) -> st.SearchStrategy[list[Arrival]]:
    arrival = st.builds(
        Arrival,
        at=st.floats(0.0, 0.05),
        prompt_tokens=st.integers(1, 60),
        output_tokens=st.integers(1, 40),
        cancelled_at=cancelled_at,
    )
    return st.lists(arrival, max_size=12)


@given(
    load=arrivals(st.none()),
    late=st.lists(st.floats(0.0, 0.005), min_size=1, max_size=7),
    blocks=st.integers(26, 60),
)
def test_both_hosts_run_the_same_steps_however_late_the_real_one_wakes(
    load: list[Arrival], late: list[float], blocks: int
) -> None:
    engine = config(blocks=blocks, ingest_s=0.002)
    steps, _, _ = live(load, engine, lambda count: late[count % len(late)])
    assert steps == virtual(load, engine)


@given(load=arrivals(st.none() | st.floats(0.0, 0.1)), blocks=st.integers(26, 60))
def test_both_hosts_run_the_same_steps_whoever_leaves(load: list[Arrival], blocks: int) -> None:
    engine = config(blocks=blocks, ingest_s=0.002)
    steps, heard, _ = live(load, engine, lambda _: 0.0)
    assert steps == virtual(load, engine)
    said = [answer.output_tokens for answer in replay(load, engine)]
    assert [len(each.times) for each in heard] == said


def test_tokens_come_when_the_model_has_them() -> None:
    load = [Arrival(0.25, 10, 3)]
    _, heard, lags = live(load, config(), lambda _: 0.0)
    assert heard[0].times == pytest.approx([0.251, 0.252, 0.253])
    assert lags == pytest.approx([0.0] * 3)


def test_lateness_is_told_and_does_not_add_up() -> None:
    load = [Arrival(0.0, 10, 90)]
    _, heard, lags = live(load, config(), lambda count: 0.0009 if count % 2 else 0.0002)
    assert max(lags) < 0.001, "each token is late by its own timer, not by all before it"
    assert heard[0].times[-1] == pytest.approx(0.090, abs=0.001)


def test_a_request_that_left_hears_nothing_more() -> None:
    load = [Arrival(0.0, 10, 50, cancelled_at=0.0055), Arrival(0.0, 10, 50)]
    _, heard, _ = live(load, config(), lambda _: 0.0)
    assert (len(heard[0].times), len(heard[1].times)) == (5, 50)
