"""Counts that outlive their windows: an error budget looks back over weeks, a window lives hours.

A window is counted once, in the transaction that closes it; those still open are read as they are.
Minutes are kept for a day, so that the short windows of alerts are exact, then become hours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from django.db.models import F

from controlplane.catalogue.models import SloVersion
from controlplane.gateways.models import STEP, Gateway, GatewayCount, GatewayHeard, GatewayWindow
from measurement.slo import Slo

MINUTE, HOUR, DAY = 60, 3_600, 86_400
MINUTES_KEPT = DAY + 2 * HOUR
PERIODS_KEPT = 2
"""A figure of what is left begins a period ago, and looks back over one from there."""
LEAST_KEPT = 35 * DAY

Pair = tuple[int, int]
"""Judged and missed."""


@dataclass(frozen=True, slots=True)
class Count:
    """What became of some requests: ``judged`` are resolved, and not excluded."""

    judged: int = 0
    missed: int = 0
    by: Mapping[str, int] = field(default_factory=dict)
    """Misses of each objective."""
    unmeasured: Mapping[str, int] = field(default_factory=dict)
    """Successes for which an objective has no value."""
    tenants: Mapping[str, Pair] = field(default_factory=dict)
    """Those with a target of their own."""

    @classmethod
    def of(cls, cohort: Mapping[str, Any], tenants: Iterable[str]) -> Self:
        """From a window's cohort as it is stored."""
        rows = {name: cohort["tenants"][name] for name in tenants if name in cohort["tenants"]}
        return cls(
            judged=cohort["met"] + cohort["missed"],
            missed=cohort["missed"],
            by=cohort["missed_by"],
            unmeasured=cohort["unmeasured"],
            tenants={
                name: (row["met"] + row["missed"], row["missed"]) for name, row in rows.items()
            },
        )

    def plus(self, other: Count) -> Count:
        """Both together."""
        tenants = dict(self.tenants)
        for name, (judged, missed) in other.tenants.items():
            known = tenants.get(name, (0, 0))
            tenants[name] = (known[0] + judged, known[1] + missed)
        return Count(
            judged=self.judged + other.judged,
            missed=self.missed + other.missed,
            by=Counter(self.by) + Counter(other.by),
            unmeasured=Counter(self.unmeasured) + Counter(other.unmeasured),
            tenants=tenants,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "judged": self.judged,
            "missed": self.missed,
            "by": dict(self.by),
            "unmeasured": dict(self.unmeasured),
            "tenants": {name: list(pair) for name, pair in self.tenants.items()},
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """What ``to_json`` wrote."""
        tenants = {name: (pair[0], pair[1]) for name, pair in given["tenants"].items()}
        return cls(**{**given, "tenants": tenants})


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time with what became of its requests, and for how many seconds of it anybody reported.

    The two are kept apart, so one of them is always nothing.
    """

    start: float
    seconds: float
    count: Count
    heard: float


def add(gateway: Gateway, windows: Iterable[GatewayWindow]) -> None:
    """Count these windows in, once and for all; one without an SLO has no budget."""
    sums: dict[tuple[str, int], Count] = {}
    named: dict[str, frozenset[str]] = {}
    for window in windows:
        if not window.slo:
            continue
        if window.slo not in named:
            named[window.slo] = with_targets(gateway, window.slo)
        key = (window.slo, window.index * STEP // MINUTE * MINUTE)
        count = Count.of(window.data["cohort"], named[window.slo])
        sums[key] = sums.get(key, Count()).plus(count)
    for (slo, start), count in sums.items():
        _put(gateway, slo, start, MINUTE, count)


def hear(gateway: Gateway, first: int, last: int) -> None:
    """Somebody has reported of these windows' times, the first to do so."""
    spoken = Counter(index * STEP // MINUTE * MINUTE for index in range(first, last + 1))
    for start, windows in spoken.items():
        _listen(gateway, start, MINUTE, windows * STEP)


def compact(gateway: Gateway, now: float) -> None:
    """Minutes of more than a day ago become hours; what no budget looks at any more goes."""
    edge = (int(now) - MINUTES_KEPT) // HOUR * HOUR
    hours: dict[tuple[str, int], Count] = {}
    old = GatewayCount.objects.filter(gateway=gateway, seconds=MINUTE, start__lt=edge)
    for row in old:
        key = (row.slo, row.start // HOUR * HOUR)
        hours[key] = hours.get(key, Count()).plus(Count.from_json(row.data))
    for (slo, start), count in hours.items():
        _put(gateway, slo, start, HOUR, count)
    spoken: Counter[int] = Counter()
    silent = GatewayHeard.objects.filter(gateway=gateway, seconds=MINUTE, start__lt=edge)
    for heard in silent:
        spoken[heard.start // HOUR * HOUR] += heard.heard
    for start, seconds in spoken.items():
        _listen(gateway, start, HOUR, seconds)
    old.delete()
    silent.delete()
    oldest = now - max(LEAST_KEPT, PERIODS_KEPT * _period(gateway))
    for model in (GatewayCount, GatewayHeard):
        model.objects.filter(gateway=gateway, start__lt=max(0, int(oldest))).delete()


def stretches(gateway: Gateway, slo: str, *, since: float) -> list[Stretch]:
    """Everything that is known under this SLO, by its hash, of the time after ``since``."""
    edge = max(0, int(since))
    none = Count()
    counted = GatewayCount.objects.filter(gateway=gateway, slo=slo, start__gte=edge)
    found = [
        Stretch(start, seconds, Count.from_json(data), 0.0)
        for start, seconds, data in counted.values_list("start", "seconds", "data")
    ]
    spoken = GatewayHeard.objects.filter(gateway=gateway, start__gte=edge)
    found += [
        Stretch(start, seconds, none, float(heard))
        for start, seconds, heard in spoken.values_list("start", "seconds", "heard")
    ]
    open_ = GatewayWindow.objects.filter(gateway=gateway, slo=slo, closed=False)
    named = with_targets(gateway, slo)
    found += [
        Stretch(index * STEP, STEP, Count.of(data["cohort"], named), 0.0)
        for index, data in open_.values_list("index", "data")
        if index * STEP >= edge
    ]
    return found


def with_targets(gateway: Gateway, slo: str) -> frozenset[str]:
    """Tenants to whom that SLO gives thresholds or a target of their own."""
    found = SloVersion.objects.filter(line__team=gateway.team_id, sha256=slo).first()
    return frozenset(Slo.parse(found.document).tenants) if found is not None else frozenset()


def _put(gateway: Gateway, slo: str, start: int, seconds: int, count: Count) -> None:
    row, new = GatewayCount.objects.get_or_create(
        gateway=gateway, slo=slo, start=start, seconds=seconds, defaults={"data": count.to_json()}
    )
    if not new:
        row.data = Count.from_json(row.data).plus(count).to_json()
        row.save(update_fields=["data"])


def _listen(gateway: Gateway, start: int, seconds: int, heard: int) -> None:
    row, new = GatewayHeard.objects.get_or_create(
        gateway=gateway, start=start, seconds=seconds, defaults={"heard": heard}
    )
    if not new:
        GatewayHeard.objects.filter(pk=row.pk).update(heard=F("heard") + heard)


def _period(gateway: Gateway) -> float:
    slo = gateway.slo_version
    return 0.0 if slo is None else Slo.parse(slo.document).period_s
