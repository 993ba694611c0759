"""The shape of a window's JSON: what may be folded into others without a second look."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0, le=2**53)]
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
    offered: Count
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


class WindowShape(Struct):
    """One second."""

    index: Count
    start: Annotated[float, Meta(ge=0, le=2**53)]
    width: Annotated[float, Meta(ge=1, le=1)]
    revision: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    final: bool
    events: EventsShape
    cohort: CohortShape
