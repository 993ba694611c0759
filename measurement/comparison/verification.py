"""The method against its bars: error rates of simulated comparisons, and of what must fail."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measurement.comparison import naive, shared_engine
from measurement.comparison.looks import POOLED_EVENTS, Looks, Rule, look
from measurement.comparison.trials import Conditions, Runs, simulate
from measurement.proportion import lower_bound, upper_bound

ALPHA = 0.05
SLACK = 0.01
"""The bar is α and one point, for the upper Clopper–Pearson bound."""
BLOCKS = 120
GAPS: dict[str, dict[str, Any]] = {
    "+20 % latency": {"latency": 0.18},
    "+1 point errors": {"errors": 0.01},
}
"""What makes the candidate worse where a pass would be false."""
LOST = 7
"""Of 33 planned blocks, in the rows of a budget that loses some."""
FALSE_HARM, FALSE_PASS, POWER = "false harm", "false pass", "power"


@dataclass(frozen=True, slots=True)
class Size:
    """How much of the grid is run."""

    runs: int
    tails: tuple[str, ...]
    requests: tuple[int, ...] = (8, 60)
    correlations: tuple[float, ...] = (0.0, 0.6, 0.9, 0.98)
    extremes: bool = False
    """Also every extreme at each correlation and size of a block."""


TESTED = Size(600, ("lognormal",), correlations=(0.0, 0.9))
REDUCED = Size(2000, ("lognormal", "pareto"))
FULL = Size(4000, ("lognormal", "pareto"), extremes=True)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: how often what should not happen did, or how often harm was found."""

    method: str
    conditions: str
    what: str
    count: int
    runs: int
    bar: float | None = None
    must_fail: bool = False
    """A wrong method: the harness has to catch it."""

    @property
    def rate(self) -> float:
        """Of the runs."""
        return self.count / self.runs

    @property
    def upper(self) -> float:
        """The one-sided 95 % Clopper–Pearson bound."""
        return upper_bound(self.count, self.runs, 0.95)

    @property
    def lower(self) -> float:
        """The same from below."""
        return lower_bound(self.count, self.runs, 0.95)

    @property
    def held(self) -> bool:
        """Whether the bar is kept: surely under it, or surely over it where it must fail."""
        if self.bar is None:
            return True
        if self.what == POWER:
            return self.rate >= self.bar
        return self.lower > self.bar if self.must_fail else self.upper <= self.bar


def errors(size: Size, rng: np.random.Generator) -> Iterator[Row]:
    """The method's rows: each cell once with equal arms and once or twice with a true gap."""
    for under in grid(size):
        equal = simulate(under, size.runs, BLOCKS, rng)
        worse = [
            simulate(dataclasses.replace(under, **gap), size.runs, BLOCKS, rng)
            for gap in GAPS.values()
        ]
        for method, planned, lost in (
            ("sequence", None, 0),
            ("budget 120", 120, 0),
            ("budget 33", 33, 0),
            (f"budget 33, {LOST} lost", 33, LOST),
        ):
            harm = _called(equal, planned, lost=lost).harm
            yield _row(method, under, FALSE_HARM, harm)
            wrong = [_called(runs, planned, lost=lost, guardrail=False).passes for runs in worse]
            for gap, passed in zip(GAPS, wrong, strict=True):
                yield _row(method, under, FALSE_PASS, passed, beside=gap)


def grid(size: Size) -> Iterator[Conditions]:
    """The cells: the plain ones, and each extreme."""
    for correlation, requests, tail in product(size.correlations, size.requests, size.tails):
        yield Conditions(correlation=correlation, requests=requests, tail=tail)
    extremes: tuple[dict[str, Any], ...] = (
        {"lane_offset": 0.3},
        {"lane_spread": 0.4},
        {"trend": 0.4},
        {"switchback": True},
        {"base": 0.002},
        {"base": 0.01},
        {"base": 0.99},
        {"bursts": 0.02},
        {"bursts": 0.02, "base": 0.002},
    )
    for changes in extremes:
        correlations = size.correlations if size.extremes else (0.9,)
        for correlation, requests in product(
            correlations, size.requests if size.extremes else (60,)
        ):
            yield Conditions(correlation=correlation, requests=requests, **changes)


def must_fail(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """What is used elsewhere, and wrong here."""
    under = Conditions()
    swapped = simulate(under, runs, BLOCKS, rng)
    fixed = simulate(under, runs, BLOCKS, rng, swap=False)
    for method, called in (
        ("request z-test", naive.request_z(swapped, ALPHA)),
        ("request z-test, fixed lanes", naive.request_z(fixed, ALPHA)),
        ("paired block test, fixed lanes", naive.paired_z(fixed, ALPHA)),
        ("sequence, fixed lanes", _called(fixed, None).harm),
    ):
        yield _row(method, under, FALSE_HARM, called, must_fail=True)
    rare = Conditions(requests=8, base=0.002, errors=0.01)
    runs_of_rare = simulate(rare, runs, BLOCKS, rng)
    looks = _called(runs_of_rare, None, guardrail=False)
    trusting = looks.running.mean + looks.pass_radius < runs_of_rare.running_truth
    yield _row("sequence, any few bad events", rare, FALSE_PASS, trusting, must_fail=True)
    crowded = Conditions(requests=8, base=0.99, latency=0.18)
    runs_of_crowded = simulate(crowded, runs, BLOCKS, rng)
    looks = _called(runs_of_crowded, None, guardrail=False)
    trusting = looks.running.mean + looks.pass_radius < runs_of_crowded.running_truth
    trusting &= runs_of_crowded.bad_so_far >= POOLED_EVENTS
    yield _row("sequence, any few good events", crowded, FALSE_PASS, trusting, must_fail=True)
    few = min(runs, 400)
    hidden = shared_engine.shared(few, BLOCKS, rng)
    gap = hidden.truth[0, 0]
    yield Row(
        method="sequence, shared engine",
        conditions=f"queue, alone {100 * gap:.0f} points worse",
        what=FALSE_PASS,
        count=_any(_called(hidden, None, margin=0.01).passes),
        runs=few,
        bar=ALPHA + SLACK,
        must_fail=True,
    )


def powers(runs: int, rng: np.random.Generator) -> Iterator[Row]:
    """How often harm is found in time, and how often equal arms pass."""
    for percent, bar in ((5, None), (10, 0.6), (20, 0.98)):
        under = Conditions(latency=float(np.log1p(percent / 100)))
        found = _called(simulate(under, runs, BLOCKS, rng), None).harm
        yield Row("sequence", f"+{percent} % latency", POWER, _any(found), runs, bar)
    apart = shared_engine.apart(min(runs, 200), BLOCKS, rng)
    found = _called(apart, None).harm
    yield Row("sequence, own engines", "queue", POWER, _any(found), min(runs, 200), 0.99)
    for base, requests, blocks, margin, bar in (
        (0.01, 60, 33, 0.01, None),
        (0.01, 120, 33, 0.01, None),
        (0.05, 60, 120, 0.01, None),
        (0.05, 60, 120, 0.03, 0.98),
    ):
        equal = simulate(Conditions(base=base, requests=requests), runs, blocks, rng)
        passed = _called(equal, None, margin=margin).passes
        words = f"equal arms, base {base:.0%}, margin {margin:.0%}, {blocks} × {requests}"
        yield Row("sequence", words, POWER, _any(passed), runs, bar)


def _any(flags: NDArray[np.bool_]) -> int:
    """In how many runs it happened at any look."""
    return int(np.sum(np.any(flags, axis=1)))


def _called(
    runs: Runs,
    planned: int | None,
    *,
    margin: float | None = None,
    guardrail: bool = True,
    lost: int = 0,
) -> Looks:
    """The looks of every run; the margin is each run's own true gap so far if none is given.

    ``lost``: so many of the planned blocks said nothing; those that did come first.
    """
    if lost and planned is not None:
        runs = runs.first(planned - lost)
    scale = float(np.sqrt(np.mean(runs.differences[:200] ** 2)))
    rule = Rule(
        alpha=ALPHA,
        alpha_harm=ALPHA,
        pass_margin=runs.running_truth if margin is None else margin,
        harm_margin=0.0,
        scale=scale,
        planned=planned,
        guardrail=guardrail,
        closed=lost > 0,
    )
    offered = runs.baseline_n + runs.candidate_n
    return look(runs.differences, runs.baseline_bad, runs.candidate_bad, rule, offered=offered)


def _row(
    method: str,
    under: Conditions,
    what: str,
    called: NDArray[np.bool_],
    *,
    beside: str = "",
    must_fail: bool = False,
) -> Row:
    plain = Conditions()
    changed = [
        f"{field.name.replace('_', ' ')} {getattr(under, field.name)}"
        for field in dataclasses.fields(Conditions)
        if getattr(under, field.name) != getattr(plain, field.name)
        or field.name in ("correlation", "requests")
    ]
    return Row(
        method=method,
        conditions=", ".join([*changed, *([beside] if beside else [])]),
        what=what,
        count=_any(called),
        runs=len(called),
        bar=ALPHA + SLACK,
        must_fail=must_fail,
    )


def worst(rows: Iterable[Row]) -> list[Row]:
    """The cell with the highest bound, for each method and kind of error."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = row.method, row.what
        if key not in found or row.upper > found[key].upper:
            found[key] = row
    return list(found.values())
