"""Small engines to test with: no ingest delay, a millisecond a step unless a test says more."""

from __future__ import annotations

from typing import Any

from simulator.core.config import EngineConfig
from simulator.core.cost import StepCost
from simulator.core.engine import Engine
from simulator.core.request import Request
from simulator.core.step import Step

FLAT = StepCost(t0_ms=1.0, t_w_ms=0.0, t_c_ms=0.0, t_kv_ms=0.0, t_s_ms=0.0, t_a_ms=0.0)


def config(**changed: Any) -> EngineConfig:
    fields: dict[str, Any] = {
        "cost": FLAT,
        "blocks": 101,
        "block_size": 4,
        "token_budget": 64,
        "max_seqs": 16,
        "max_model_len": 100,
        "ingest_s": 0.0,
    }
    return EngineConfig(**(fields | changed))


def engine(*asked: tuple[int, int], **changed: Any) -> Engine:
    """An engine that holds requests "0", "1", … of (prompt, output) tokens, all come at 0."""
    made = Engine(config(**changed), seed=1)
    for place, (prompt, output) in enumerate(asked):
        made.add(Request(str(place), prompt, output), 0.0)
    return made


def step(made: Engine) -> Step:
    due = made.next_step_at()
    assert due is not None
    return made.step(due)


def drain(made: Engine) -> list[Step]:
    steps = []
    while made.next_step_at() is not None:
        steps.append(step(made))
    return steps


def names(sequences: tuple[Any, ...]) -> list[str]:
    return [sequence.request.id for sequence in sequences]
