"""Batching laws: what all of them are held to, and what each does."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedulers.batching.base import BatchingLaw, Load, StepPlan, StepTaken, decided, laws
from schedulers.decision import Reason
from schedulers.state import state_from_json, state_to_json
from tests.schedulers.law_cases import instances

every_law = pytest.mark.parametrize("cls", laws.all().values(), ids=lambda cls: cls.name)
loads = st.builds(
    Load,
    decoding=st.integers(0, 400),
    prefilling=st.integers(0, 10),
    prefill_tokens=st.integers(0, 50_000),
    waiting=st.integers(0, 300),
    waiting_tokens=st.integers(0, 100_000),
    oldest_wait=st.floats(0.0, 10.0),
    arrival_rate=st.none() | st.floats(0.0, 1000.0),
    least_slack=st.none() | st.floats(-1.0, 5.0),
)
taken = st.builds(
    StepTaken,
    decoding=st.integers(0, 400),
    prefill_tokens=st.integers(0, 8192),
    context_tokens=st.integers(0, 1_000_000),
    seconds=st.floats(-1.0, 2.0) | st.sampled_from([float("nan"), float("inf")]),
)


def law(name: str, **parameters: Any) -> Any:
    cls: Any = laws.get(name)
    return cls(**parameters)


@every_law
@settings(max_examples=30, deadline=None)
@given(data=st.data(), steps=st.lists(st.tuples(loads, taken), min_size=1, max_size=12))
def test_decoding_always_goes_on_and_nobody_waits_while_it_does(
    cls: type[BatchingLaw[Any]], data: st.DataObject, steps: list[tuple[Load, StepTaken]]
) -> None:
    it: Any = data.draw(instances(cls))
    state = it.start()
    for seen, step in steps:
        restored = state_from_json(type(state), json.loads(json.dumps(state_to_json(state))))
        plan = it.plan(state, seen, 1.0)
        assert restored == state
        assert it.plan(restored, seen, 1.0) == plan
        assert plan.token_budget >= max(1, seen.decoding)
        assert plan.padded_to is None or plan.padded_to >= seen.decoding
        assert plan.wait_s >= 0.0
        assert plan.wait_s == 0.0 or seen.idle
        json.dumps(decided(it, seen, plan, 1.0).to_json(), allow_nan=False)
        state = it.stepped(state, step, 1.0)


@every_law
@settings(max_examples=25, deadline=None)
@given(data=st.data(), seen=loads, now=st.floats(0.0, 4e9), left=st.floats(1e-12, 0.06))
def test_a_wait_moves_the_clock_and_ends_when_nobody_comes(
    cls: type[BatchingLaw[Any]], data: st.DataObject, seen: Load, now: float, left: float
) -> None:
    it: Any = data.draw(instances(cls))
    state = it.start()
    queued_at = now - max(0.0, getattr(it, "gather_ms", 5.0) / 1e3 - left)
    for _ in range(12):
        idle = replace(seen, decoding=0, prefilling=0, oldest_wait=now - queued_at)
        plan = it.plan(state, idle, now)
        if plan.wait_s == 0.0:
            break
        assert now + plan.wait_s > now
        now += plan.wait_s
    assert plan.wait_s == 0.0


@pytest.mark.parametrize("seconds", [-1.0, 1e-18, float("nan"), float("inf")])
def test_a_plan_with_a_wait_that_no_clock_can_wait_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="wait_s"):
        StepPlan(reason=Reason.GATHERING, token_budget=1, max_sequences=1, wait_s=seconds)


@every_law
def test_a_prompt_longer_than_the_budget_goes_on_by_chunks(cls: type[BatchingLaw[Any]]) -> None:
    it: Any = cls()
    alone = Load(waiting=1, waiting_tokens=100_000, oldest_wait=60.0)
    begun = Load(prefilling=1, prefill_tokens=90_000, decoding=3)
    plan = it.plan(it.start(), alone, 0.0)
    assert plan.admit_waiting
    assert plan.wait_s == 0.0
    assert plan.max_sequences >= 1
    assert it.plan(it.start(), begun, 0.0).token_budget > 3


def test_a_static_batch_gathers_then_ends_before_the_next_begins() -> None:
    it = law("static", size=4, gather_ms=50)
    gathering = it.plan(None, Load(waiting=2, oldest_wait=0.02), 0.0)
    assert (gathering.reason, gathering.wait_s) == (Reason.GATHERING, pytest.approx(0.03))
    assert it.plan(None, Load(waiting=2, oldest_wait=0.05), 0.0).admit_waiting
    assert it.plan(None, Load(waiting=4), 0.0).admit_waiting
    assert not it.plan(None, Load(waiting=4, decoding=1), 0.0).admit_waiting


@pytest.mark.parametrize(
    ("spacing", "decoding", "padded"),
    [("eights", 33, 40), ("eights", 257, None), ("eights", 0, None), ("doubling", 33, None),
     ("doubling", 60, 64), ("eights", 3, None), ("eights", 4, 4)],
)  # fmt: skip
def test_padding_goes_to_a_captured_size_or_not_at_all(
    spacing: str, decoding: int, padded: int | None
) -> None:
    it = law("graph_buckets", spacing=spacing)
    assert it.plan(None, Load(decoding=decoding), 0.0).padded_to == padded
    mixed = it.plan(None, Load(decoding=decoding, prefill_tokens=5), 0.0)
    assert mixed.padded_to is None


@pytest.mark.parametrize("rule", ["gain", "reference"])
def test_a_micro_wait_never_passes_its_cap(rule: str) -> None:
    it = law("micro_wait", rule=rule, max_wait_ms=5.0)
    for waited in (0.0, 0.002, 0.0049, 0.006):
        plan = it.plan(None, Load(waiting=1, oldest_wait=waited, arrival_rate=150.0), 0.0)
        assert waited + plan.wait_s <= max(waited, 0.005) + 1e-12
    urgent = Load(waiting=1, arrival_rate=150.0, least_slack=0.0001)
    assert it.plan(None, urgent, 0.0).wait_s == 0.0


def test_a_tpot_budget_learns_the_step_and_keeps_it_within_the_objective() -> None:
    it = law("tpot_budget", tpot_ms=50.0, margin=0.9)
    state = it.start()

    def seconds(tokens: int) -> float:
        return 0.012 + 20e-6 * tokens

    seen = Load(decoding=40, prefilling=1, prefill_tokens=30_000)
    for step in range(60):
        budget = it.plan(state, seen, 0.0).token_budget if step > 20 else 200 + 90 * step
        chunk = budget - seen.decoding
        state = it.stepped(
            state,
            StepTaken(decoding=40, prefill_tokens=chunk, context_tokens=0, seconds=seconds(budget)),
            0.0,
        )
    plan = it.plan(state, seen, 0.0)
    assert plan.reason is Reason.TPOT_BUDGET
    assert 0.040 < seconds(plan.token_budget) <= 0.0451
    assert it.plan(state, Load(prefill_tokens=30_000), 0.0).token_budget == 8192
    assert not it.plan(state, Load(decoding=3000, waiting=5), 0.0).admit_waiting
