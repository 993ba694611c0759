"""A gateway's past, as counting would have left it."""

from __future__ import annotations

from datetime import UTC, datetime

from controlplane.gateways import counting
from controlplane.gateways.models import Gateway, GatewayCount, GatewayHeard
from tests.controlplane.gateways.conftest import AT

MINUTE, HOUR, DAY = 60, 3_600, 86_400


def clock(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def past(edge: Gateway, ago: int, until: int, *, missed: int = 0) -> None:
    """Twenty requests a minute, as counting would have left them: hours, then two of minutes."""
    assert edge.slo_version is not None
    for start, step in [
        *((start, HOUR) for start in range(ago, max(until, 2 * HOUR), -HOUR)),
        *((start, MINUTE) for start in range(min(ago, 2 * HOUR), until, -MINUTE)),
    ]:
        bad = missed * step // MINUTE
        data = counting.Count(20 * step // MINUTE, bad, {"ttft_ms": bad}).to_json()
        told = {"gateway": edge, "start": int(AT) - start, "seconds": step}
        GatewayCount.objects.create(**told, slo=edge.slo_version.sha256, data=data)
        GatewayHeard.objects.create(**told, heard=step)
