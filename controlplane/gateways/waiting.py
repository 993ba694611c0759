"""What waits behind a gateway now, and whether what has ended still says how it stands.

Numbers of a page are of requests that ended. An engine that freezes ends none, and a gateway that
is not heard of may do anything: then no share is good any more, however good it was. Those that
wait past their objective are misses already, whatever becomes of them, and are counted as such.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self

from django.utils.translation import gettext as _

from controlplane.gateways.models import Gateway, GatewayProcess
from controlplane.runs import phrases

LIVE_FOR = 15.0
"""Seconds behind the newest process after which another one counts as gone."""
STALE_AFTER = 10.0
"""Seconds without telemetry; a process sends each second."""
STALLED_AFTER = 5.0
"""Seconds without a byte from engines that owe late answers. A long prompt, read whole before the
next step, may stop every stream behind it for a second or two."""


def processes(gateway: Gateway) -> list[GatewayProcess]:
    """Those that go on, by what was last heard of them; the newest first."""
    rows = list(GatewayProcess.objects.filter(gateway=gateway, ended=False).order_by("-at"))
    return [row for row in rows if row.at > rows[0].at - LIVE_FOR]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Open requests of all lanes that have missed an objective already."""

    overdue: int = 0
    by: Mapping[str, int] = field(default_factory=dict)
    """By the objective that was missed."""
    tenants: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, processes: Sequence[GatewayProcess], now: datetime) -> Self:
        """As processes heard of within ``STALE_AFTER`` say; what was said before may have ended."""
        edge = now - timedelta(seconds=STALE_AFTER)
        lanes = [lane for one in processes if one.heard_at > edge for lane in one.lanes]
        by, tenants = Counter[str](), Counter[str]()
        for lane in lanes:
            by.update(lane.get("overdue_by") or {})
            tenants.update(lane.get("overdue_tenants") or {})
        return cls(sum(lane.get("overdue", 0) for lane in lanes), dict(by), dict(tenants))


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why nothing that ended says how the gateway stands: a word for a tile, and a sentence."""

    word: str
    because: str


def stalled(lane: Mapping[str, Any]) -> bool:
    """Whether a lane's engines owe late answers and have said nothing for too long."""
    return bool(lane.get("overdue", 0)) and lane.get("quiet_s", 0.0) >= STALLED_AFTER


def doubt(gateway: Gateway, processes: Sequence[GatewayProcess], now: datetime) -> Doubt | None:
    """None while telemetry comes and answers end."""
    if gateway.seen_at is None:
        return None
    age = (now - gateway.seen_at).total_seconds()
    if age > STALE_AFTER:
        why = _("No telemetry has come for %(age)s: what was counted before says nothing of now.")
        return Doubt(_("silent"), why % {"age": phrases.clock(age)})
    lanes = [lane for one in processes for lane in one.lanes if stalled(lane)]
    if not lanes:
        return None
    why = _(
        "No answer ends on lane %(lanes)s: no byte for %(quiet)s, and %(n)s past their objective. "
        "What has ended says nothing of those that wait."
    ) % {
        "lanes": ", ".join(sorted({lane["lane"] for lane in lanes})),
        "quiet": phrases.clock(max(lane["quiet_s"] for lane in lanes)),
        "n": phrases.count(sum(lane["overdue"] for lane in lanes), _("request")),
    }
    return Doubt(_("stalled"), why)
