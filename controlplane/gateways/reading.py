"""What a gateway's telemetry says, for those who judge it: blocks, arms, shadows, what it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from typing import Any

from django.db.models import Sum

from controlplane.catalogue.models import PolicyVersion
from controlplane.gateways.blocks import blocks
from controlplane.gateways.models import STEP, Gateway, GatewayProcess, GatewayShadow, GatewayWindow
from controlplane.gateways.waiting import processes
from measurement.window import Window
from schedulers.runtime.shadow import Divergence, ShadowReport

__all__ = [
    "Seen",
    "ShadowSeen",
    "arms",
    "blocks",
    "last_heard",
    "processes",
    "seen",
    "shadow_reports",
    "traffic",
]


@dataclass(frozen=True, slots=True)
class Seen:
    """What the gateway's live processes say they run; nothing of it is what was wished."""

    at: float
    """Unix seconds of the newest telemetry, on the gateway's clock."""
    revision: int
    """The lowest of them."""
    configs: frozenset[str]
    processes: int
    policies: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By lane, hashes of what runs there."""
    arms: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShadowSeen:
    """What came of a shadow on one lane of one process."""

    boot: str
    lane: str
    since: float
    at: float
    report: ShadowReport
    deciding_seconds: float
    fault: str


def arms(gateway: Gateway, *, since: float, until: float) -> dict[str, Window]:
    """Each arm's traffic in ``[since, until)``, Unix seconds, to whole windows of STEP seconds."""
    rows = GatewayWindow.objects.filter(
        gateway=gateway, index__gte=since // STEP, index__lt=-(-until // STEP)
    )
    by_arm: dict[str, list[Window]] = {}
    for arm, data in rows.order_by("index").values_list("arm", "data"):
        by_arm.setdefault(arm, []).append(Window.from_json(data))
    return {arm: reduce(Window.then, found) for arm, found in by_arm.items()}


def shadow_reports(gateway: Gateway, version: PolicyVersion, *, since: float) -> list[ShadowSeen]:
    """Of every process and lane that shadowed this version and spoke of it after ``since``."""
    rows = GatewayShadow.objects.filter(gateway=gateway, policy=version.sha256, at__gte=since)
    return [
        ShadowSeen(
            boot=row.boot,
            lane=row.lane,
            since=row.since,
            at=row.at,
            report=_report(row.report),
            deciding_seconds=row.deciding_seconds,
            fault=row.fault,
        )
        for row in rows.order_by("lane", "boot")
    ]


def last_heard(gateway: Gateway) -> datetime | None:
    """When telemetry last came, by our own clock; None before the first."""
    found = Gateway.objects.filter(pk=gateway.pk).values_list("seen_at", flat=True)
    return found[0]


def seen(gateway: Gateway) -> Seen | None:
    """None before anything was heard."""
    live = processes(gateway)
    if not live:
        return None
    policies: dict[str, set[str]] = {}
    ran: dict[str, set[str]] = {}
    for process in live:
        for lane in process.lanes:
            policies.setdefault(lane["lane"], set()).add(lane["policy"])
            ran.setdefault(lane["lane"], set()).add(lane["arm"])
    return Seen(
        at=live[0].at,
        revision=min(process.revision for process in live),
        configs=frozenset(process.config_sha256 for process in live),
        processes=len(live),
        policies={lane: frozenset(found) for lane, found in policies.items()},
        arms={lane: frozenset(found) for lane, found in ran.items()},
    )


def traffic(gateway: Gateway, *, seconds: float) -> float | None:
    """Requests per second over the last so many, as far as was heard; None before anything was."""
    live = GatewayProcess.objects.filter(gateway=gateway).order_by("-at").first()
    if live is None:
        return None
    last = int(live.at) // STEP
    count = max(1, round(seconds / STEP))
    rows = GatewayWindow.objects.filter(gateway=gateway, index__gte=last - count, index__lt=last)
    offered = rows.aggregate(offered=Sum("offered"))["offered"] or 0
    return float(offered) / (count * STEP)


def _report(given: Mapping[str, Any]) -> ShadowReport:
    """From JSON; ``agreement`` follows from the counts."""
    values = {name: value for name, value in given.items() if name in ShadowReport.__slots__}
    if values.get("diverged") is not None:
        values["diverged"] = Divergence(**values["diverged"])
    return ShadowReport(**values)
