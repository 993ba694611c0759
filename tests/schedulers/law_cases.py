"""Any law with any parameters, and any observations: what the property tests draw from."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import reject
from hypothesis import strategies as st

from documents.fields import FieldInfo, describe
from documents.parse import build
from documents.problem import DocumentError
from schedulers.concurrency.base import (
    AgentLoad,
    ConcurrencyLaw,
    Observation,
    OutcomeKind,
    laws,
)
from schedulers.decision import DecisionPoint
from schedulers.points import registered

EVERY_LAW = list(laws.all().values())
"""Of concurrency."""
LAW_OF_EVERY_POINT = [
    pytest.param(str(point), cls, id=f"{point}-{name}")
    for point in DecisionPoint
    for name, cls in registered(point).items()
]
BAD_LATENCIES = (math.nan, math.inf, -math.inf, 0.0, -1.0, None)


def value_of(info: FieldInfo) -> st.SearchStrategy[Any]:
    """Any value that one parameter takes on its own."""
    drawn: st.SearchStrategy[Any]
    if info.choices:
        drawn = st.sampled_from(info.choices)
    elif info.kind is int:
        drawn = st.integers(int(info.minimum or 0), int(info.maximum or 0))
    elif info.kind is float:
        drawn = st.floats(
            info.minimum, info.maximum, exclude_min=info.exclusive_minimum, allow_nan=False
        )
    else:
        drawn = st.booleans() if info.kind is bool else st.text()
    return drawn | st.none() if info.optional else drawn


@st.composite
def parameters(draw: st.DrawFn, cls: type[Any]) -> dict[str, Any]:
    """Some of a law's parameters; limits in the order in which they can be."""
    infos = {info.name: info for info in describe(cls)}
    given = {name: draw(value_of(info)) for name, info in infos.items() if draw(st.booleans())}
    limits = [name for name in ("min", "initial", "max") if name in infos]
    if len(limits) == 3:
        ceiling = draw(st.sampled_from([4, 64, 1024]))
        values = sorted(draw(st.integers(1, ceiling)) for _ in limits)
        given.update(zip(limits, values, strict=True))
    return given


@st.composite
def instances(draw: st.DrawFn, cls: type[Any]) -> ConcurrencyLaw[Any]:
    """A law with parameters that it takes together."""
    try:
        law: ConcurrencyLaw[Any] = build(cls, draw(parameters(cls)))
    except DocumentError:
        reject()
    return law


latencies = st.floats(1e-4, 600.0) | st.sampled_from(BAD_LATENCIES)
step = st.tuples(
    st.floats(-0.5, 5.0) | st.just(700.0),
    st.floats(-1.0, 20.0),
    st.integers(1, 2000),
    st.sampled_from(OutcomeKind),
    latencies,
    latencies,
    st.none()
    | st.builds(
        AgentLoad,
        active=st.integers(0, 300),
        contexts=st.floats(0.0, 1e6) | st.just(math.nan),
        kv_tokens=st.sampled_from([0, 100_000]),
        next_context=st.none() | st.floats(0.0, 1e5),
        kv_used=st.none() | st.floats(0.0, 1.0) | st.just(math.nan),
        hit_rate=st.none() | st.floats(0.0, 1.0),
        evicted=st.integers(-1, 50),
        turns=st.integers(0, 50),
        grown=st.none() | st.floats(0.0, 1e4),
    ),
)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Observation, float]]:
    """Observations with the time at which each is made, faults and backward clocks included.

    A short pattern, repeated: so that windows fill, and drawing stays cheap.
    """
    pattern = draw(st.lists(step, min_size=1, max_size=6))
    now, found = 0.0, []
    for serial in range(len(pattern) * draw(st.integers(1, 30))):
        pause, age, in_flight, kind, latency, ttft, agents = pattern[serial % len(pattern)]
        now += pause
        seen = Observation(
            started_at=now - age,
            in_flight=in_flight,
            kind=kind,
            latency=latency,
            ttft=ttft,
            serial=serial + 1,
            granted=serial + in_flight,
            agents=agents,
        )
        found.append((seen, now))
    return found
