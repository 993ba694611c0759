"""What a canary's figures draw: D block by block with its radius, and both arms over time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from controlplane.gateways.models import STEP, GatewayWindow
from controlplane.rollouts.models import StageRun
from measurement.comparison.block import Count
from measurement.comparison.confidence_sequence import LEAST_BLOCKS
from measurement.comparison.criterion_verdict import Series
from measurement.comparison.looks import POOLED_EVENTS
from measurement.comparison.plan import ComparisonPlan
from measurement.comparison.verdict import Evidence
from measurement.slo import Slo
from measurement.window import Window

ARMS = ("baseline", "candidate")
METRICS = ("ttft", "tpot")
PERCENTS = (50.0, 95.0, 99.0)
MOST_ROWS = 180
MOST_BLOCKS = 600
COLUMNS = [
    f"{arm}_{name}"
    for arm in ARMS
    for name in (
        "n",
        "offered",
        "attainment",
        *(f"{metric}_p{percent:g}" for metric in METRICS for percent in PERCENTS),
    )
]
Numbers = list[float | int | None]


def gaps_of(run: StageRun) -> list[dict[str, Any]]:
    """Each criterion's figure: D, its mean and the band that harm and pass are read from.

    In points. The band's lower edge is m − r for harm, the upper m + r for a pass: when the whole
    band is above the harm line it is rolled back, when it is below the pass line it passes.
    """
    if not run.evidence.get("plan"):
        return []
    plan = ComparisonPlan.parse(run.evidence["plan"])
    blocks = Evidence.from_json(run.evidence["evidence"]).blocks
    told = run.evidence.get("guard") or run.evidence["verdict"]
    verdicts = {row["name"]: row for row in told["criteria"]}
    found = []
    for criterion in plan.criteria:
        series = Series(plan, criterion, blocks)
        found.append(
            {
                "name": criterion.name,
                "title": criterion.label[:1].upper() + criterion.label[1:],
                "harm": 100 * criterion.harm_margin,
                "pass": 100 * criterion.pass_margin,
                "least": LEAST_BLOCKS,
                "rows": _rows(series),
                "sentence": sentence(verdicts[criterion.name]),
            }
        )
    return found


def _rows(series: Series) -> list[Numbers]:
    """k, D, m, low, high; thinned where there are more than a figure can show."""
    used = series.used
    if not used:
        return []
    looks, name = series.looks, series.criterion.name
    every = max(1, math.ceil(len(used) / MOST_BLOCKS))
    places = [place for place in range(len(used)) if place % every == 0 or place == len(used) - 1]
    rows: list[Numbers] = []
    for place in places:
        mean = float(looks.running.mean[place])
        rows.append(
            [
                place + 1,
                _points(used[place].difference(name)),
                _points(mean),
                _points(mean - float(looks.harm_radius[place])),
                _points(mean + float(looks.pass_radius[place])),
            ]
        )
    return rows


def sentence(row: Mapping[str, Any]) -> str:
    """What the figure says, with the numbers that decide."""
    k = row["k"]
    if row["outcome"] == "harm":
        return _harm(row)
    if not k:
        return "No block is over yet."
    if k < LEAST_BLOCKS:
        return f"{k} of {LEAST_BLOCKS} blocks: nothing passes before."
    if row["outcome"] == "pass":
        return _rarely(row) if row["rare"] else _bound(row)
    return _unbelieved(row) or _bound(row)


def _rarely(row: Mapping[str, Any]) -> str:
    """What passed it where bad requests were too rare for the band."""
    if row["accepted_by"]:
        return f"{_unbelieved(row)} {row['accepted_by']} passed it."
    return f"No bad request of the candidate in {row['k']:,} blocks: that is enough to pass."


def _unbelieved(row: Mapping[str, Any]) -> str:
    """Why the band says nothing; empty where it does."""
    blocks = f"in {row['k']:,} blocks: too"
    if row["rare"]:
        return f"{row['pooled']} bad requests {blocks} rare for the band to be believed."
    good = _good(row)
    if good < POOLED_EVENTS:
        return f"{good} good requests {blocks} few for the band to be believed."
    return ""


def _good(row: Mapping[str, Any]) -> int:
    """Requests of both arms that are known not to be bad."""
    counts = [Count(**row[arm]) for arm in ARMS]
    return sum(count.measured - count.bad for count in counts)


def _harm(row: Mapping[str, Any]) -> str:
    evidence = f"the evidence against equal arms is E = 10^{row['log10_e'] or 0.0:.1f}"
    if row["r_harm"] is None:
        return f"Harm: {evidence}."
    low = 100 * float(row["m"] - row["r_harm"])
    return f"Harm: the gap is surely above {low:.2f} pt, and {evidence}."


def _bound(row: Mapping[str, Any]) -> str:
    """The upper edge of the band against the margin, and what could be detected now."""
    high, margin = 100 * (row["m"] + (row["r_pass"] or 0.0)), 100 * row["pass_margin"]
    side = "below" if high < margin else "not below"
    detect = row["detectable"]
    least = "" if detect is None else f" The smallest harm detectable now: {100 * detect:.2f} pt."
    return f"The upper bound, {high:+.2f} pt, is {side} the margin of {margin:+.2g} pt.{least}"


def arms_of(run: StageRun, slo: Slo | None) -> dict[str, Any]:
    """Both arms' traffic while the canary runs, in Unix seconds, from merged histograms."""
    if not run.setting.get("starts_at"):
        return {"step": STEP, "columns": ["t", *COLUMNS], "rows": [], "marks": {}}
    began = run.setting["starts_at"]
    rows = GatewayWindow.objects.filter(
        gateway_id=run.rollout.gateway_id, arm__in=ARMS, index__gte=int(began) // STEP
    )
    if run.ended_at is not None:
        rows = rows.filter(index__lte=int(run.ended_at.timestamp()) // STEP)
    span = _span(rows)
    step = STEP * max(1, math.ceil(span / MOST_ROWS))
    held: dict[int, dict[str, list[Window]]] = defaultdict(lambda: defaultdict(list))
    for index, arm, data in rows.order_by("index").values_list("index", "arm", "data"):
        held[index * STEP // step * step][arm].append(Window.from_json(data))
    return {
        "step": step,
        "columns": ["t", *COLUMNS],
        "rows": [
            [start, *(value for arm in ARMS for value in _numbers(arms.get(arm, []), step))]
            for start, arms in sorted(held.items())
        ],
        "marks": _marks(slo),
    }


def _span(rows: Any) -> int:
    indexes = rows.order_by("index").values_list("index", flat=True)
    first, last = indexes.first(), indexes.last()
    return 0 if first is None or last is None else last - first + 1


def _numbers(windows: Sequence[Window], step: int) -> Numbers:
    """One arm in one row, in the order of COLUMNS: latencies in ms, attainment in per cent."""
    if not windows:
        return [None] * (len(COLUMNS) // len(ARMS))
    cohort = reduce(lambda a, b: a.merge(b), (window.cohort for window in windows))
    share = cohort.attainment
    found: Numbers = [
        cohort.e2e.count,
        round(cohort.offered / step, 3),
        None if share is None else round(100 * share, 3),
    ]
    for metric in METRICS:
        values = getattr(cohort, metric).percentiles(PERCENTS)
        found += [None if value is None else round(1e3 * value, 3) for value in values]
    return found


def _marks(slo: Slo | None) -> dict[str, float]:
    """What the objectives allow, by metric in its own unit; attainment's target in per cent."""
    if slo is None:
        return {}
    return {
        "attainment": 100 * slo.target,
        **{one.metric.removesuffix("_ms"): one.max for one in slo.objectives},
    }


def _points(share: float | None) -> float | None:
    if share is None or not math.isfinite(share):
        return None
    return round(100 * share, 4)
