"""The shapes of what a batch holds: what may be folded and shown without a second look."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0, le=2**53)]
Number = Annotated[float, Meta(ge=-(2.0**60), le=2.0**60)]
Outcomes = dict[str, Count]
Gauge = Annotated[float, Meta(ge=0, le=2**53)] | None


class HistogramShape(Struct):
    index: Annotated[list[Annotated[int, Meta(ge=0, le=2**20)]], Meta(max_length=40_000)]
    count: Annotated[list[Count], Meta(max_length=40_000)]


class TenantShape(Struct, forbid_unknown_fields=True):
    offered: Count
    met: Count
    missed: Count
    excluded: Count
    shed: Count
    output_tokens: Count


class EventsShape(Struct):
    sent: Count
    tokens: Count
    completed: Outcomes
    in_flight_mean: Gauge
    in_flight_s: Annotated[float, Meta(ge=0, le=3600)]
    in_flight_max: Count | None
    limit: Count | None
    running: Gauge
    waiting: Gauge
    kv_use: Gauge


class CohortShape(Struct):
    offered: Annotated[int, Meta(ge=0, le=2**31)]
    outcomes: Outcomes
    met: Count
    missed: Count
    excluded: Count
    missed_by: Outcomes
    unmeasured: Outcomes
    output_tokens: Count
    met_tokens: Count
    tenants: dict[str, TenantShape]
    ttft: HistogramShape
    tpot: HistogramShape
    itl: HistogramShape
    e2e: HistogramShape
    send_lag: HistogramShape


class DivergenceShape(Struct):
    at: Number
    active: Count
    shadow: Count


class ReportShape(Struct):
    """A shadow's."""

    steps: Count
    agreeing: Count
    diverged: DivergenceShape | None
    would_have_held: Count
    granted: Count
    would_have_sent: Count
    decisions: Count
    least: Count | None
    most: Count | None
    agreement: Annotated[float, Meta(ge=0, le=1)] | None = None


class DecisionShape(Struct):
    """A line of a trace, with its lane."""

    lane: Annotated[str, Meta(min_length=1, max_length=63)]
    at: Annotated[float, Meta(ge=0, le=2**40)]
    point: str
    law: Annotated[str, Meta(max_length=64)]
    before: Number
    after: Number
    reason: str
    inputs: Annotated[dict[str, Number | None], Meta(max_length=64)]
    shadow: bool = False


class WindowShape(Struct):
    """One second."""

    index: Count
    start: Annotated[float, Meta(ge=0, le=2**53)]
    width: Annotated[float, Meta(ge=1, le=1)]
    revision: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    final: bool
    events: EventsShape
    cohort: CohortShape
