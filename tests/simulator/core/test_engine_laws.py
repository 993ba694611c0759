"""What must hold of any load: tokens, blocks and order are conserved, and a seed is a schedule."""

from __future__ import annotations

import json
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from simulator.core.config import EngineConfig
from simulator.core.content import Runs
from simulator.core.cost import StepCost
from simulator.core.engine import Engine
from simulator.core.hooks import Ahead, Allowance, Hooks, Load, View
from simulator.core.request import Request
from simulator.core.step import Step
from simulator.virtual import Arrival, replay
from tests.simulator.core.engines import config

COST = StepCost(t0_ms=1.0, t_w_ms=2.0, t_c_ms=0.05, t_kv_ms=0.001, t_s_ms=0.01, t_a_ms=1e-5)


def styled(style: str, **fields: object) -> EngineConfig:
    """A small engine of one style; what only another style takes is left out."""
    if style == "slots":
        fields |= {"max_seqs": 3, "blocks": 76}
    return config(style=style, swap=fields.pop("swap") and style == "continuous", **fields)


configs = st.builds(
    styled,
    style=st.sampled_from(["continuous", "continuous", "prefill_first", "reserve_max", "slots"]),
    cost=st.just(COST),
    blocks=st.integers(26, 80),
    token_budget=st.integers(16, 120),
    max_seqs=st.integers(1, 16),
    watermark=st.sampled_from([0.0, 0.1, 0.3]),
    ingest_s=st.sampled_from([0.0, 0.004]),
    prefix_cache=st.booleans(),
    long_prefill_threshold=st.sampled_from([0, 0, 7]),
    swap=st.booleans(),
    swap_ms_per_token=st.just(0.01),
)
contents = st.none() | st.builds(
    lambda head, tail: Runs((("system", head), ("user", tail), (f"rest {head}", 200))),
    st.integers(1, 30),
    st.integers(1, 30),
)
arrivals = st.lists(
    st.builds(
        Arrival,
        at=st.floats(0.0, 0.2),
        prompt_tokens=st.integers(1, 60),
        output_tokens=st.integers(1, 40),
        cancelled_at=st.none() | st.none() | st.floats(0.0, 0.4),
        content=contents,
    ),
    max_size=24,
)


def steps_of(load: list[Arrival], engine: EngineConfig, seed: int) -> list[Step]:
    steps: list[Step] = []
    replay(load, engine, seed=seed, on_step=steps.append)
    return steps


@given(load=arrivals, engine=configs, seed=st.integers(0, 9))
def test_every_token_asked_for_is_said_once_and_no_more(
    load: list[Arrival], engine: EngineConfig, seed: int
) -> None:
    served = replay(load, engine, seed=seed)
    for arrival, answer in zip(load, served, strict=True):
        if answer.finished:
            assert answer.output_tokens == arrival.output_tokens
        else:
            assert arrival.cancelled_at is not None
            assert answer.output_tokens < arrival.output_tokens


@given(load=arrivals, engine=configs, seed=st.integers(0, 9))
def test_a_step_keeps_to_budget_sequences_and_blocks(
    load: list[Arrival], engine: EngineConfig, seed: int
) -> None:
    before = 0.0
    for step in steps_of(load, engine, seed):
        assert 0 < step.tokens <= engine.token_budget
        assert 0 < step.sequences <= step.running <= engine.max_seqs
        assert 0 < step.used_blocks <= engine.blocks - 1
        assert step.start >= before
        assert step.end > step.start
        before = step.end


def law(narrow: bool, together: bool, patient: bool) -> Callable[[Load, Ahead], Allowance]:
    """A law of batching that bounds the batch, lets it end before another, waits for company."""

    def allow(load: Load, ahead: Ahead) -> Allowance:
        runs = load.decoding + load.prefilling
        wait = 0.02 - ahead.oldest_wait if patient and not runs and load.waiting < 3 else 0.0
        most = 2 if narrow else 1000
        return Allowance(20 + load.decoding, most, not (together and runs), max(0.0, wait))

    return allow


class AnyOfThem(dict[str, View]):
    """A line in which another is first as time passes."""

    def joined(self, view: View) -> None:
        self[view.id] = view

    def left(self, name: str) -> None:
        del self[name]

    def first(self, now: float) -> str:
        return list(self)[int(now * 1e3) % len(self)]


laws = st.builds(
    Hooks,
    token_budget=st.none() | st.just(lambda load: 20 + load.decoding),
    line=st.none() | st.just(AnyOfThem),
    victim=st.none() | st.just(lambda running, now: int(now * 1e3) % len(running)),
    allow=st.none() | st.builds(law, *[st.booleans()] * 3),
    padded=st.none() | st.just(lambda decodes: decodes),
    each_step=st.booleans(),
)


@given(load=arrivals, engine=configs, seed=st.integers(0, 9), hooks=laws)
def test_leaping_over_steps_gives_the_same_to_the_last_bit(
    load: list[Arrival], engine: EngineConfig, seed: int, hooks: Hooks
) -> None:
    step_by_step = replay(load, engine, seed=seed, hooks=hooks, on_step=lambda _: None)
    assert replay(load, engine, seed=seed, hooks=hooks) == step_by_step
    assert all(each.finished for each in step_by_step if load[each.index].cancelled_at is None)


@given(load=arrivals, engine=configs, seed=st.integers(0, 9))
def test_the_same_seed_gives_the_same_bytes(
    load: list[Arrival], engine: EngineConfig, seed: int
) -> None:
    first, again = (
        json.dumps([step.record() for step in steps_of(load, engine, seed)]) for _ in range(2)
    )
    assert first == again


@given(
    lengths=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 40)), min_size=1, max_size=16),
    engine=configs,
    aborted=st.sets(st.integers(0, 15)),
    after=st.integers(0, 40),
)
def test_blocks_held_are_blocks_gone_from_the_pool(
    lengths: list[tuple[int, int]], engine: EngineConfig, aborted: set[int], after: int
) -> None:
    made = Engine(engine, seed=0)
    sequences = [
        made.add(Request(str(place), prompt, output), 0.0)
        for place, (prompt, output) in enumerate(lengths)
    ]
    count = 0
    while (due := made.next_step_at()) is not None:
        made.step(due)
        count += 1
        if count == after:
            for place in aborted:
                made.abort(str(place))
        assert made.pool.used == sum(made.pool.held(sequence) for sequence in sequences)
        assert 0 <= made.pool.cached <= made.pool.free <= made.pool.usable
        assert made.pool.promised >= 0
        for sequence in made.running:
            assert sequence.computed < sequence.known
    assert (made.pool.free, made.pool.promised) == (made.pool.usable, 0)


@given(
    lengths=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 40)), min_size=1, max_size=16),
    engine=configs.filter(
        lambda made: made.style != "prefill_first" and not made.long_prefill_threshold
    ),
)
def test_first_come_is_first_scheduled_and_first_answered(
    lengths: list[tuple[int, int]], engine: EngineConfig
) -> None:
    made = Engine(engine, seed=0)
    added = [
        made.add(Request(str(place), prompt, output), 0.0)
        for place, (prompt, output) in enumerate(lengths)
    ]
    in_order = sorted(added, key=lambda sequence: sequence.queued_at)
    while (due := made.next_step_at()) is not None:
        made.step(due)
    firsts = [sequence.first_token_at for sequence in in_order]
    assert None not in firsts
    assert firsts == sorted(firsts, key=lambda at: at or 0.0)
