"""The batching balance: its algebra, and that it finds again what the engine model was made of."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurement.capacity.batching import (
    Caps,
    Lengths,
    Steps,
    fit,
    largest_rate,
    running,
    sequences,
    step_time,
)
from measurement.capacity.little_law import in_flight
from measurement.capacity.observed import Observed
from measurement.column_builder import columns_of
from measurement.moments import Moments
from measurement.outcome import Outcome
from measurement.sample import Sample
from simulator.core.config import EngineConfig
from simulator.core.cost import StepCost
from simulator.virtual import Arrival, replay

LINE = EngineConfig(
    cost=StepCost(t0_ms=10, t_w_ms=0, t_c_ms=0.1, t_kv_ms=0, t_s_ms=0.2, t_a_ms=0),
    blocks=20_000,
    max_seqs=256,
    ingest_s=0.0,
    ingest_sigma=0.0,
)
"""A step is a line: 10 ms, 0.3 ms a sequence, 0.1 ms a prompt token."""
START, END = 8.0, 40.0


@cache
def served(rate: float, prompt: int = 100, output: int = 60) -> Observed:
    """What one load comes to on the engine model, after its start."""
    rng = np.random.default_rng(5)
    instants = np.cumsum(rng.exponential(1 / rate, int(2 * rate * END)))
    lengths = np.maximum(2, rng.exponential(output, len(instants))).astype(int)
    asked = [
        Arrival(float(at), prompt, int(n))
        for at, n in zip(instants, lengths, strict=True)
        if at < END
    ]
    rows = [row for row in replay(asked, LINE) if row.finished]
    kept = [
        Sample(
            row.index,
            "acme",
            row.arrived_at,
            Outcome.OK,
            sent_at=row.arrived_at,
            first_token_at=row.first_token_at,
            last_token_at=row.last_token_at,
            done_at=row.last_token_at,
            prompt_tokens=row.prompt_tokens,
            output_tokens=row.output_tokens,
            first_chunk_tokens=1,
        )
        for row in rows
        if row.arrived_at >= START
    ]
    done = sum(START <= (row.last_token_at or 0.0) < END for row in rows)
    spans = [(row.arrived_at, row.last_token_at or 0.0) for row in rows]
    flown = sum(max(0.0, min(end, END) - max(begin, START)) for begin, end in spans)
    return Observed(
        rate=len(kept) / (END - START),
        served=done / (END - START),
        in_flight=flown / (END - START),
        moments=Moments.of(columns_of(kept)),
    )


def ladder(*rates: float) -> list[Observed]:
    return [served(rate) for rate in rates]


def test_the_models_sequences_are_predicted_from_its_steps() -> None:
    points = ladder(5, 10, 20)
    steps = fit(points)
    assert steps is not None
    assert steps.fixed == pytest.approx(0.010, rel=0.1)
    for point in points:
        found = sequences(point, steps, Caps(256))
        assert found.off == pytest.approx(0, abs=0.1)


def test_a_load_that_was_not_fitted_is_predicted_too() -> None:
    steps = fit(ladder(5, 20))
    assert steps is not None
    found = sequences(served(10), steps, Caps(256))
    assert found.off == pytest.approx(0, abs=0.1)


def test_two_workloads_tell_prefill_and_decode_apart() -> None:
    points = [*ladder(5, 10), served(6, 600, 30), served(12, 600, 30)]
    steps = fit(points)
    assert steps is not None
    assert steps.per_prompt_token == pytest.approx(1e-4, rel=0.25)
    assert steps.per_sequence == pytest.approx(3e-4, rel=0.4)


def test_littles_law_holds_on_the_model() -> None:
    found = in_flight(served(10))
    assert found.off == pytest.approx(0, abs=0.1)


def test_one_load_fits_nothing() -> None:
    assert fit([served(10)]) is None


LENGTHS = Lengths(prompt=200, output=100, context=250)
STEPS = Steps(0.02, 0.0002, 0.00005)


@given(st.floats(0.1, 30))
def test_the_balance_solves_its_own_equation(rate: float) -> None:
    n = running(rate, LENGTHS, STEPS)
    step = step_time(rate, LENGTHS, STEPS)
    prompts = rate * LENGTHS.prompt * step
    assert step == pytest.approx(
        STEPS.fixed + STEPS.per_sequence * n + STEPS.per_prompt_token * prompts
    )


def test_past_the_balance_there_is_no_number_of_sequences() -> None:
    work = LENGTHS.prompt * STEPS.per_prompt_token + LENGTHS.output * STEPS.per_sequence
    assert math.isinf(running(1 / work, LENGTHS, STEPS))
    assert largest_rate(LENGTHS, STEPS, Caps()).value == pytest.approx(1 / work)


@pytest.mark.parametrize(
    ("caps", "most", "cause"),
    [
        (Caps(sequences=64), 64, "limit on sequences"),
        (Caps(kv_tokens=10_000), 40, "KV cache"),
        (Caps(sequences=64, kv_tokens=10_000), 40, "KV cache"),
    ],
)
def test_the_least_cap_bounds_the_load_and_is_named(caps: Caps, most: float, cause: str) -> None:
    found = largest_rate(LENGTHS, STEPS, caps, measured=10.0)
    assert found.value is not None
    assert running(found.value, LENGTHS, STEPS) == pytest.approx(most)
    assert cause in found.note
    assert found.off == pytest.approx(found.value / 10 - 1)
