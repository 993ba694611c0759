"""Each error budget of a gateway, looked at a few times a minute: how it stands, and what changed.

A change into an alert, or out of one, is written to the audit log with the numbers that say why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from controlplane.audit import services as audit
from controlplane.gateways import counting
from controlplane.gateways.counting import Stretch
from controlplane.gateways.models import STEP, Gateway, GatewayBudget
from controlplane.gateways.waiting import Waiting, processes
from measurement.burn_rate import LEAST_MISSED, Budget, Counts, Course, Standing, standing
from measurement.slo import Slo

EVERY = timedelta(seconds=10)
"""Between two looks; the shortest window of an alert is 5 min."""
VERB = "error_budget"
ALERTS = (Standing.PAGE, Standing.TICKET)

Scope = GatewayBudget.Scope


@dataclass(frozen=True, slots=True)
class Held:
    """Whose budget, and the share of requests that must be good."""

    scope: str
    name: str
    target: float

    def counts(self, stretches: Sequence[Stretch]) -> Iterator[Counts]:
        """Its requests. One that its objective can't measure is left out: it is no good one."""
        for one in stretches:
            judged, missed = self._of(one.count)
            yield Counts(one.start, one.seconds, judged, missed, one.heard)

    def late(self, waiting: Waiting) -> int:
        """Its misses among those that wait: they are counted anew at each look, and kept by none
        until they end."""
        if self.scope == Scope.TENANT:
            return waiting.tenants.get(self.name, 0)
        if self.scope == Scope.OBJECTIVE:
            return waiting.by.get(self.name, 0)
        return waiting.overdue

    def _of(self, count: counting.Count) -> tuple[int, int]:
        if self.scope == Scope.TENANT:
            return count.tenants.get(self.name, (0, 0))
        if self.scope == Scope.OBJECTIVE:
            return count.judged - count.unmeasured.get(self.name, 0), count.by.get(self.name, 0)
        return count.judged, count.missed


def held(slo: Slo) -> list[Held]:
    """The joint one, one for each objective, and one for each tenant with a target of its own."""
    return [
        Held(Scope.JOINT, "", slo.target),
        *(Held(Scope.OBJECTIVE, one.metric, slo.target_of(one)) for one in slo.objectives),
        *(Held(Scope.TENANT, name, slo.target_for(name)) for name in slo.tenants),
    ]


def due(gateway: Gateway, now: datetime, *, after: timedelta = EVERY) -> bool:
    """Whether they were last looked at that long ago, or under another SLO, or never."""
    rows = list(GatewayBudget.objects.filter(gateway=gateway).values_list("at", "slo"))
    slo = gateway.slo_version
    if slo is None:
        return bool(rows)
    return not rows or any(at <= now - after or named != slo.sha256 for at, named in rows)


def look(gateway: Gateway, now: datetime) -> None:
    """Look at every budget of a locked row, store how each stands, and tell what changed."""
    known = {(row.scope, row.name): row for row in GatewayBudget.objects.filter(gateway=gateway)}
    if gateway.slo_version is not None:
        slo, sha256 = Slo.parse(gateway.slo_version.document), gateway.slo_version.sha256
        at, period = now.timestamp(), slo.period_s
        found = counting.stretches(gateway, sha256, since=at - period)
        waiting = Waiting.of(processes(gateway), now)
        for one in held(slo):
            before = known.pop((one.scope, one.name), None)
            _store(gateway, one, before, sha256, _judged(one, found, waiting, at, period), now)
    for gone in known.values():
        _tell(gateway, gone, gone.state, "none")
        gone.delete()


def spent(gateway: Gateway) -> GatewayBudget | None:
    """A budget of it that is spent, as it was last looked at; a few misses of a young one aren't
    enough to say so."""
    slo = gateway.slo_version
    rows = GatewayBudget.objects.filter(gateway=gateway, slo=slo.sha256 if slo else "")
    return next((row for row in rows if _spent(row.data["budget"])), None)


def _spent(budget: dict[str, Any]) -> bool:
    left = budget["left"]
    return left is not None and left <= 0 and budget["missed"] >= LEAST_MISSED


def _judged(
    one: Held, found: Sequence[Stretch], waiting: Waiting, at: float, period: float
) -> dict[str, Any]:
    course = Course([*one.counts(found), *_late(one, waiting, at)])
    alerts = course.alerts(now=at, target=one.target, period=period)
    named, saying = standing(alerts)
    unmeasured = 0
    if one.scope == Scope.OBJECTIVE:
        unmeasured = sum(part.count.unmeasured.get(one.name, 0) for part in found)
    if named is Standing.IDLE and unmeasured:
        named = Standing.UNKNOWN  # somebody asked, and no answer can be judged
    return {
        "state": str(named),
        "saying": None if saying is None else alerts.index(saying),
        "alerts": [alert.to_json() for alert in alerts],
        "budget": course.budget(now=at, target=one.target, period=period).to_json(),
        "unmeasured": unmeasured,
        "waiting": one.late(waiting),
    }


def _late(one: Held, waiting: Waiting, at: float) -> list[Counts]:
    """Those that wait past their objective, as the newest of its requests."""
    late = one.late(waiting)
    return [Counts(at - STEP, STEP, late, late, 0.0)] if late else []


def _store(
    gateway: Gateway,
    one: Held,
    row: GatewayBudget | None,
    slo: str,
    judged: dict[str, Any],
    now: datetime,
) -> None:
    before = row.state if row is not None else "none"
    row = row or GatewayBudget(gateway=gateway, scope=one.scope, name=one.name)
    row.state = judged["state"]
    if row.state != before:
        row.since = now
    row.slo, row.target, row.at, row.seq, row.data = slo, one.target, now, gateway.seq, judged
    row.save()
    _tell(gateway, row, before, row.state)


def _tell(gateway: Gateway, row: GatewayBudget, before: str, after: str) -> None:
    if before == after or not {before, after} & set(ALERTS):
        return
    place = row.data["saying"]
    audit.record(
        team_id=gateway.team_id,
        actor="headway",
        verb=VERB,
        kind="gateway",
        object_id=gateway.pk,
        name=gateway.name,
        detail={
            "scope": row.scope,
            "name": row.name,
            "from": before,
            "to": after,
            "alert": None if place is None else row.data["alerts"][place],
            "left": row.data["budget"]["left"],
        },
    )


def course(gateway: Gateway, slo: Slo, sha256: str, now: float) -> dict[str, Any]:
    """What was left of each budget over time, as a figure takes it: its rows and their step.

    It begins at the first count, or a period ago; tenants' budgets are not in it.
    """
    period = slo.period_s
    found = counting.stretches(gateway, sha256, since=now - counting.PERIODS_KEPT * period)
    if not found:
        return {"step": counting.MINUTE, "rows": []}
    first = max(now - period, min(one.start for one in found))
    step = _step(now - first)
    drawn = [one for one in held(slo) if one.scope != Scope.TENANT]
    waiting = Waiting.of(processes(gateway), datetime.fromtimestamp(now, UTC))
    courses = [
        (one.target, Course([*one.counts(found), *_late(one, waiting, now)])) for one in drawn
    ]
    edge = int(now // step) * step
    times = [*range(int(first // step) * step + step, edge + step, step)]
    if not times or int(now) > times[-1]:
        times.append(int(now))
    return {
        "step": step,
        "rows": [[at, *_left(courses, at, period)] for at in times],
    }


def _left(courses: Sequence[tuple[float, Course]], at: float, period: float) -> list[float | None]:
    """Percent; null over a period without a request."""
    found: list[Budget] = [
        course.budget(now=at, target=target, period=period) for target, course in courses
    ]
    return [None if one.left is None else round(100 * one.left, 3) for one in found]


STEPS = (60, 600, 3_600, 6 * 3_600, 86_400)
MOST_ROWS = 240


def _step(seconds: float) -> int:
    """The finest that keeps a figure within its rows."""
    return next((step for step in STEPS if seconds <= step * MOST_ROWS), STEPS[-1])
