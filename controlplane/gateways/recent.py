"""The last minutes of a gateway's traffic: what tiles, tables and the bar are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, reduce

from controlplane.gateways.models import STEP, Gateway, GatewayProcess, GatewayWindow
from controlplane.gateways.waiting import Waiting
from controlplane.runs import phrases
from measurement.cohort import Cohort
from measurement.proportion import Share
from measurement.slo import Slo
from measurement.tally import Tally
from measurement.window import Window

MINUTES = 5
RATE_S = 60.0
ROWS_S = 15
"""Width of a row that figures draw: long enough for some requests to be in it."""
SHOWN_S = 900
"""How far back figures go."""


@dataclass(frozen=True)
class Recent:
    """Windows of STEP seconds in order, all arms and processes in each."""

    windows: Sequence[Window]
    seconds: float
    slo: Slo | None
    until: float = 0.0
    """Where it ends, Unix seconds."""
    waiting: Waiting = field(default_factory=Waiting)
    """What has missed an objective and waits still: counted as missed from now on."""

    @cached_property
    def cohort(self) -> Cohort:
        """All of it."""
        return reduce(Cohort.merge, (window.cohort for window in self.windows), Cohort())

    @cached_property
    def tally(self) -> Tally:
        """What a verdict needs."""
        return Tally.of_cohorts([window.cohort for window in self.windows])

    @property
    def attainment(self) -> Share:
        """Of the judged requests, and of those that have missed before they could be judged."""
        return _with(self.tally.joint, self.waiting.overdue)

    def objective(self, metric: str) -> Share:
        """The same of one objective."""
        return _with(self.tally.objective(metric), self.waiting.by.get(metric, 0))

    @property
    def span(self) -> str:
        """How long it is, in words."""
        if self.seconds < 90:
            return f"{self.seconds:.0f} s"
        return f"{phrases.number(self.seconds / 60)} min"

    @property
    def rate(self) -> float:
        """Requests per second over the last minute of it."""
        length = min(self.seconds, RATE_S)
        newest = (one for one in self.windows if one.index * STEP >= self.until - length)
        return sum(window.cohort.offered for window in newest) / length


def _with(share: Share, missed: int) -> Share:
    """With so many misses more, as dependent as the rest; by themselves they are one event."""
    n = share.n + missed
    worth = share.effective_n * n / share.n if share.n else float(min(1, missed))
    return Share(share.k, n, worth) if missed else share


def recent(
    gateway: Gateway,
    processes: Sequence[GatewayProcess],
    now: datetime,
    *,
    minutes: int = MINUTES,
) -> Recent:
    """The minutes before the newest telemetry of these, or as long as the oldest of them runs."""
    slo = gateway.slo_version
    objectives = Slo.parse(slo.document) if slo else None
    if not processes:
        return Recent((), 60.0 * minutes, objectives)
    until = max(process.at for process in processes)
    run = until - min(process.since for process in processes)
    last = int(until) // STEP
    first = last - 60 * minutes // STEP
    rows = GatewayWindow.objects.filter(gateway=gateway, index__gte=first, index__lt=last)
    beside: dict[int, list[Window]] = defaultdict(list)
    for index, data in rows.values_list("index", "data"):
        beside[index].append(Window.from_json(data))
    merged = {index: reduce(Window.merge, same) for index, same in sorted(beside.items())}
    held = (last - min(merged)) * STEP if merged else 0.0
    seconds = min(60.0 * minutes, max(run, held, float(STEP)))
    late = Waiting() if objectives is None else Waiting.of(processes, now)
    return Recent(tuple(merged.values()), seconds, objectives, float(last * STEP), late)


def by_arm(gateway: Gateway, starts: Iterable[int]) -> dict[int, dict[str, Window]]:
    """The windows of rows that begin there, by row and arm, side by side and joined in time."""
    found: dict[int, dict[str, dict[int, list[Window]]]] = {}
    indexes = [start // STEP + place for start in starts for place in range(ROWS_S // STEP)]
    rows = GatewayWindow.objects.filter(gateway=gateway, index__in=indexes)
    for index, arm, data in rows.values_list("index", "arm", "data"):
        start = index * STEP // ROWS_S * ROWS_S
        window = Window.from_json(data)
        found.setdefault(start, {}).setdefault(arm, defaultdict(list))[index].append(window)
    return {
        start: {arm: _whole(same) for arm, same in arms.items()} for start, arms in found.items()
    }


def _whole(beside: Mapping[int, Sequence[Window]]) -> Window:
    windows = [reduce(Window.merge, same) for _, same in sorted(beside.items())]
    return reduce(Window.then, windows)
