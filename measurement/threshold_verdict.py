"""Thresholds judged by the rules that objectives are judged by: a bound decides, not a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from measurement.batch_means import effective_n
from measurement.because import percents
from measurement.column_block import Block, Bools
from measurement.columns import SampleColumns
from measurement.judgements import Judgements
from measurement.judging import missed_of, value_of
from measurement.latencies import only_successes
from measurement.objective_verdict import FAIL, INCONCLUSIVE, PASS, judge_share
from measurement.objectives import METRICS
from measurement.outcome import Outcome
from measurement.part import REJECTED, Part
from measurement.proportion import Share
from measurement.quantiles import minimum_n, percentile
from measurement.slo import Slo
from measurement.thresholds import AT_MOST, SIGNS, Kind, Threshold, plain

_VERB = {PASS: "Passes", FAIL: "Fails", INCONCLUSIVE: "Inconclusive"}


@dataclass(frozen=True, slots=True)
class ThresholdVerdict:
    """``value``, ``lower`` and ``upper`` are in the metric's unit, except for a percentile, whose
    ``lower`` and ``upper`` are bounds of the share within the limit."""

    threshold: str
    label: str
    metric: str
    outcome: str
    because: str
    value: float | None = None
    share: float | None = None
    lower: float | None = None
    upper: float | None = None
    target: float | None = None
    """The share that must be within the limit."""
    n: int = 0
    effective_n: float | None = None
    needed: int | None = None
    """How many more requests would decide it; 0 when decided, None when no number would."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _Run:
    """The part of a run that counts."""

    columns: SampleColumns
    part: Part


def judge_thresholds(
    thresholds: Iterable[Threshold],
    columns: SampleColumns,
    slo: Slo | None,
    *,
    start: float,
    end: float,
) -> tuple[ThresholdVerdict, ...]:
    """Each threshold on the requests that were intended from ``start`` on, warm-up cut."""
    part = Part.of(Judgements.of(columns, slo), start=start, end=end)
    run = _Run(columns.since(start), part)
    return tuple(_RULES[one.measured.kind](one, run) for one in thresholds)


def _latency(threshold: Threshold, run: _Run) -> ThresholdVerdict:
    """``p(95)<800`` holds when at least 95 % of the offered are within 800, failures beyond."""
    name, percent = threshold.metric, threshold.percent or 0.0
    metric = METRICS[name]

    def missed(block: Block) -> Bools:
        return missed_of(block, name, threshold.limit)[0]

    def judged(block: Block) -> Bools:  # a cancel that missed nothing is left out, as everywhere
        return ~block.became(Outcome.CANCELLED) | missed(block)

    share = _share(run.columns, judged, lambda block: ~missed(block))
    measured = run.columns.count(
        lambda block: judged(block) & ~missed_of(block, name, threshold.limit)[1]
    )
    found = _within(threshold, share, percent / 100, measured)
    known = run.columns.known(only_successes(lambda block: value_of(block, name)))
    value = percentile(known, percent) if len(known) >= minimum_n(percent) else None
    made = _made(threshold, found, value=value)
    if measured >= minimum_n(percent):
        return made
    because = (
        f"Inconclusive because {measured:,} requests say something of {metric.title}, and "
        f"P{plain(percent)} takes {minimum_n(percent):,}."
    )
    short = minimum_n(percent) - measured
    return _made(threshold, {**found, "outcome": INCONCLUSIVE, "because": because, "needed": short})


def _shared(threshold: Threshold, run: _Run) -> ThresholdVerdict:
    """A share of the offered, or what is left of them, against its limit."""
    if threshold.metric == "attainment":
        return _made(threshold, _within(threshold, run.part.joint, threshold.limit, None))
    hit = _was_rejected if threshold.metric == "rejected" else _was_error
    kept = _share(
        run.columns,
        lambda block: ~block.became(Outcome.CANCELLED),
        lambda block: ~hit(block),
    )
    return _made(threshold, _within(threshold, kept, 1 - threshold.limit, None))


def _rate(threshold: Threshold, run: _Run) -> ThresholdVerdict:
    """``goodput_rps>5`` holds when the share that met every objective does at this offered rate."""
    joint, seconds = run.part.joint, run.part.seconds
    offered = joint.n / seconds if seconds > 0 else 0.0
    if offered <= threshold.limit:
        because = (
            f"Fails because only {offered:.2f} requests/s were offered, so that no answers could "
            f"make {threshold.label}."
        )
        return _made(threshold, {"outcome": FAIL, "because": because, "n": joint.n, "needed": 0})
    found = _within(threshold, joint, threshold.limit / offered, None)
    scaled = {
        name: None if found[name] is None else found[name] * offered for name in ("lower", "upper")
    }
    return _made(threshold, {**found, **scaled}, value=(joint.value or 0.0) * offered)


def _number(threshold: Threshold, run: _Run) -> ThresholdVerdict:
    """A fact of the run, compared as it stands."""
    value = run.part.to_json()[threshold.metric]
    if value is None:
        because = f"Inconclusive because the run has no {threshold.measured.title}."
        return _made(threshold, {"outcome": INCONCLUSIVE, "because": because})
    outcome = PASS if _COMPARE[threshold.operator](value, threshold.limit) else FAIL
    known, asked = threshold.measured, f"{SIGNS[threshold.operator]} {plain(threshold.limit)}"
    because = (
        f"{_VERB[outcome]} because the {known.title} was {value:,.2f} {known.unit}, where {asked} "
        "is asked."
    )
    facts = {"outcome": outcome, "because": because, "n": run.part.offered, "needed": 0}
    return _made(threshold, facts, value=value)


def _within(threshold: Threshold, share: Share, target: float, measured: int | None) -> Any:
    """The share of requests on the right side of the limit, against the share that must be."""
    row = judge_share(
        threshold.metric,
        threshold.label,
        target,
        share,
        share.n if measured is None else measured,
    )
    if not share.n:
        because = "Inconclusive because no request has an outcome."
        return {"outcome": INCONCLUSIVE, "because": because}
    return {
        "outcome": row.outcome,
        "because": _sentence(threshold, row.outcome, share, target, row.needed),
        "share": share.value,
        "lower": row.lower,
        "upper": row.upper,
        "target": target,
        "n": share.n,
        "effective_n": round(share.effective_n, 1),
        "needed": row.needed,
    }


def _sentence(
    threshold: Threshold, outcome: str, share: Share, target: float, needed: int | None
) -> str:
    value, lower, upper, wanted = percents(share.value or 0.0, share.lower(), share.upper(), target)
    fact = f"{value} of {share.n:,} offered requests {_did(threshold)}"
    if outcome == PASS:
        told = f"the one-sided 95 % lower bound, {lower}, is above the {wanted} that must"
    elif outcome == FAIL:
        told = f"the one-sided 95 % upper bound, {upper}, is below the {wanted} that must"
    else:
        more = (
            "no number of requests would decide it"
            if needed is None
            else f"about {needed:,} more requests at this share would decide it"
        )
        told = (
            f"the one-sided 95 % bounds, {lower} and {upper}, lie on both sides of the "
            f"{wanted} that must; {more}"
        )
    return f"{_VERB[outcome]} because {fact}, and {told}."


def _did(threshold: Threshold) -> str:
    if threshold.percent is not None:
        return f"had {threshold.measured.title} ≤ {plain(threshold.limit)} ms"
    words = {"errors": "had no error", "rejected": "were not rejected"}
    return words.get(threshold.metric, "met every objective")


def _made(threshold: Threshold, facts: Any, *, value: float | None = None) -> ThresholdVerdict:
    """``value`` is the metric as measured; a share of what is bad is what the good leave."""
    facts = dict(facts)
    shared = threshold.measured.kind is Kind.SHARE
    if shared and facts.get("share") is not None:
        value = facts["share"]
        if threshold.operator in AT_MOST:
            value = 1 - value
            facts["lower"], facts["upper"] = 1 - facts["upper"], 1 - facts["lower"]
    return ThresholdVerdict(
        threshold=str(threshold),
        label=threshold.label,
        metric=threshold.metric,
        value=value,
        **facts,
    )


def _share(
    columns: SampleColumns, counts: Callable[[Block], Bools], good: Callable[[Block], Bools]
) -> Share:
    """Counted by windows of a second, as objectives are."""
    sizes: Counter[int] = Counter()
    hits: Counter[int] = Counter()
    for block in columns.blocks():
        window, which = np.floor(block.intended_at), counts(block)
        for found, rows in ((sizes, which), (hits, which & good(block))):
            names, numbers = np.unique(window[rows], return_counts=True)
            found.update(dict(zip(names.tolist(), numbers.tolist(), strict=True)))
    order = sorted(sizes)
    n, k = [sizes[at] for at in order], [hits[at] for at in order]
    return Share(sum(k), sum(n), effective_n(n, k))


def _was_rejected(block: Block) -> Bools:
    return block.became(*REJECTED)


def _was_error(block: Block) -> Bools:
    return ~block.success & ~_was_rejected(block)


_RULES: dict[Kind, Callable[[Threshold, _Run], ThresholdVerdict]] = {
    Kind.LATENCY: _latency,
    Kind.SHARE: _shared,
    Kind.RATE: _rate,
    Kind.NUMBER: _number,
}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
