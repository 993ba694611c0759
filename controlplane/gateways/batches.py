"""A batch of telemetry, read whole: a fault anywhere refuses all of it, each with its path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from controlplane.gateways.shapes import DecisionShape, ReportShape, WindowShape
from documents.problem import DocumentError, Problem
from gateway.telemetry import API_VERSION, KIND
from measurement.outcome import Outcome
from measurement.window import Window
from schedulers.decision import Decision

Sha = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Name = Annotated[str, Meta(min_length=1, max_length=64)]
Whole = Annotated[int, Meta(ge=0, le=2**53)]
Lane = Annotated[str, Meta(min_length=1, max_length=63)]
Small = Annotated[int, Meta(ge=0, le=2**31 - 1)]
At = Annotated[float, Meta(ge=0, le=2**40)]
Text = Annotated[str, Meta(max_length=300)]


class WindowEntry(Struct):
    arm: Literal["active", "baseline", "candidate", "rest"]
    policy: Sha
    tenant: Name
    slo: Sha | None
    window: dict[str, Any]


class CountEntry(Struct):
    offered: Small
    bad: Small
    unmeasured: Small


class BlockEntry(Struct):
    canary: Sha
    block: Small
    lane: Lane
    arm: Literal["baseline", "candidate"]
    policy: Sha
    revision: Small
    offered: Small
    pending: Small
    met: Small
    missed: Small
    excluded: Small
    washed_out: Small
    outcomes: dict[str, Small]
    counts: dict[Name, CountEntry]


class LaneEndpoint(Struct):
    name: Name
    up: bool
    in_flight: Small


class LaneEntry(Struct):
    lane: Lane
    arm: Name
    policy: Sha
    block: Small | None
    limit: Small
    in_flight: Small
    waiting: Small
    deciding_seconds: At
    endpoints: Annotated[list[LaneEndpoint], Meta(max_length=256)]
    overdue: Small = 0
    oldest_s: At = 0.0
    quiet_s: At = 0.0
    overdue_by: Annotated[dict[Name, Small], Meta(max_length=64)] = {}
    overdue_tenants: Annotated[dict[Name, Small], Meta(max_length=5000)] = {}


class ShadowEntry(Struct):
    lane: Lane
    policy: Sha
    report: ReportShape
    deciding_seconds: At = 0.0
    fault: Text | None = None


class FaultEntry(Struct):
    at: At
    code: Name
    problems: Annotated[list[Text], Meta(max_length=20)]


class Batch(Struct):
    """What one process has to say; fields that a newer gateway adds are passed over."""

    api_version: Literal["headway/v1"] = msgspec.field(name="apiVersion")
    kind: Literal["GatewayTelemetry"]
    gateway: Name
    stream: Name
    sequence: Annotated[int, Meta(ge=1, le=2**53)]
    boot: Name
    at: At
    revision: Whole
    config_sha256: Sha
    windows: Annotated[list[WindowEntry], Meta(max_length=5000)]
    blocks: Annotated[list[BlockEntry], Meta(max_length=1000)]
    lanes: Annotated[list[LaneEntry], Meta(max_length=256)]
    decisions: Annotated[list[DecisionShape], Meta(max_length=100_000)]
    faults: Annotated[list[FaultEntry], Meta(max_length=100)]
    dropped: Whole
    enforced: Annotated[list[Name], Meta(max_length=16)] = []
    shadow: Annotated[list[ShadowEntry], Meta(max_length=256)] = []
    canary: Sha | None = None
    last: bool = False


_OUTCOMES = frozenset(str(outcome) for outcome in Outcome)
_WHERE = re.compile(r" - at `\$(.*)`$")


def read(given: object, *, gateway: str) -> tuple[Batch, list[Window]]:
    """The batch and its windows in order, or DocumentError."""
    try:
        batch = msgspec.convert(given, Batch)
    except msgspec.ValidationError as error:
        raise DocumentError([_problem(str(error))]) from None
    if (batch.api_version, batch.kind) != (API_VERSION, KIND):  # the literals above say it too
        raise DocumentError([Problem("kind", batch.kind, f"must be {KIND}")])
    problems: list[Problem] = []
    if batch.gateway != gateway:
        problems.append(Problem("gateway", batch.gateway, f"is sent to {gateway}"))
    windows = [
        _read(_window, one.window, f"windows.{place}.window", problems)
        for place, one in enumerate(batch.windows)
    ]
    for place, line in enumerate(batch.decisions):
        _read(Decision.from_json, msgspec.to_builtins(line), f"decisions.{place}", problems)
    for place, block in enumerate(batch.blocks):
        unknown = [name for name in block.outcomes if name not in _OUTCOMES]
        if unknown:
            problems.append(Problem(f"blocks.{place}.outcomes", unknown, "are no outcomes"))
    if problems:
        raise DocumentError(problems[:20])
    return batch, [window for window in windows if window is not None]


def _window(given: Mapping[str, Any]) -> Window:
    msgspec.convert(given, WindowShape)
    return Window.from_json(given)


def _read(reader: Any, given: Mapping[str, Any], path: str, problems: list[Problem]) -> Any:
    try:
        return reader(given)
    except msgspec.ValidationError as error:
        inner = _problem(str(error))
        problems.append(inner.below(path) if inner.path else Problem(path, "…", inner.message))
        return None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        said = f"can't be read: {type(error).__name__} {error}"[:200]
        problems.append(Problem(path, "…", said))
        return None


def _problem(text: str) -> Problem:
    found = _WHERE.search(text)
    path = "" if found is None else re.sub(r"\[(\w*)\.*\]", r".\1", found[1]).lstrip(".")
    message = text if found is None else text[: found.start()]
    return Problem(path, "…", message)
