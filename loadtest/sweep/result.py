"""What a sweep came to: its rungs, the knee over repeats, where to run, whether it reproduces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, median
from typing import Any

from loadtest.conclusion import Conclusion
from loadtest.reports.summary_json import document
from loadtest.sweep.ladder import Ladder
from measurement.capacity.instances import slo_load
from measurement.capacity.knee import FOLLOWS, RepeatedKnee, over_repeats
from measurement.capacity.observed import Observed
from measurement.objective_verdict import INVALID

MOVES = 0.15
"""Three sweeps whose P95 moves by this share or more at a load below the knee don't reproduce."""
THREE = 3
PAST = 0.80
"""Served over offered under which the rungs above would only hammer an engine that is full."""
SURE = NormalDist().inv_cdf(0.975)
"""How sure that must be: an engine that follows looks so full once in forty rungs at most."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One load in one repeat. ``observed`` is None where the stimulus was invalid or told nothing;
    ``note`` then says why, and the rung counts for nothing."""

    rate: float
    repeat: int
    verdict: str
    observed: Observed | None
    note: str = ""
    n: int = 0
    """Requests offered in its steady part."""

    @classmethod
    def of(cls, rate: float, repeat: int, conclusion: Conclusion) -> Rung:
        """From what a run of that load came to."""
        verdict = conclusion.verdict
        if verdict.outcome == INVALID:
            return cls(rate, repeat, verdict.outcome, None, verdict.because)
        summary = document(conclusion)
        observed = Observed.of_summary(summary)
        note = "" if observed else "no request was offered in its steady part"
        return cls(rate, repeat, verdict.outcome, observed, note, summary["offered"])

    @property
    def past(self) -> bool:
        """Whether higher loads would teach nothing more.

        In a short time arrivals and ends are two counts of about n, at worst independent, so
        their ratio is off by √(2/n). Served must be that far, at 97.5 %, under the share at which
        the knee calls an engine full: 341 requests tell 80 % from it, 50 tell 55 %, and of eight
        or fewer none tell anything.
        """
        seen = self.observed
        if seen is None or not self.n:
            return False
        share = seen.served / seen.rate
        return share < PAST and share + SURE * sqrt(2 / self.n) < FOLLOWS

    def to_json(self) -> dict[str, Any]:
        """Plain JSON: what was asked, and what came of it."""
        return {
            "asked_rate": self.rate,
            "repeat": self.repeat,
            "n": self.n,
            "verdict": self.verdict,
            "note": self.note,
            "observed": self.observed.to_json() if self.observed else None,
        }


@dataclass(frozen=True, slots=True)
class Sweep:
    """``moved`` is the most that P95 moved between repeats at a load below the knee."""

    ladder: Ladder
    rungs: tuple[Rung, ...]
    knee: RepeatedKnee
    slo_load: float | None
    """The highest load at which the SLO holds; None without an SLO, or where it never did."""
    moved: float | None
    reproducible: bool | None
    """None where there were too few repeats to say."""
    notes: tuple[str, ...]
    target: float | None = None
    """Of the SLO that the rungs were held to."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON: sweep.json."""
        return {
            "kind": "sweep",
            "rates": list(self.ladder.rates),
            "repeats": self.ladder.repeats,
            "rungs": [rung.to_json() for rung in self.rungs],
            "knee": self.knee.to_json(),
            "slo_load": self.slo_load,
            "target": self.target,
            "p95_moved": self.moved,
            "reproducible": self.reproducible,
            "notes": list(self.notes),
        }


def analyse(rungs: Sequence[Rung], ladder: Ladder, target: float | None) -> Sweep:
    """Everything that the rungs say, be they all or those until somebody stopped it."""
    repeats = sorted({rung.repeat for rung in rungs})
    ladders = [
        [rung.observed for rung in rungs if rung.repeat == repeat and rung.observed is not None]
        for repeat in repeats
    ]
    knee = over_repeats(ladders)
    moved = _moved(rungs, knee.load)
    enough = len(repeats) >= THREE and moved is not None
    reproducible = moved < MOVES if enough and moved is not None else None
    return Sweep(
        ladder=ladder,
        rungs=tuple(rungs),
        knee=knee,
        slo_load=None if target is None else slo_load(pooled(rungs), target),
        target=target,
        moved=moved,
        reproducible=reproducible,
        notes=(*_left_out(rungs), *_reproduces(len(repeats), moved if enough else None)),
    )


def pooled(rungs: Sequence[Rung]) -> list[Observed]:
    """One point a load: the median of each number over its repeats."""
    points = []
    for rate in sorted({rung.rate for rung in rungs}):
        seen = [rung.observed for rung in rungs if rung.rate == rate and rung.observed]
        if seen:
            points.append(_median(seen))
    return points


def _median(seen: Sequence[Observed]) -> Observed:
    return Observed(
        rate=median(one.rate for one in seen),
        served=median(one.served for one in seen),
        attainment=_middle([one.attainment for one in seen]),
        in_flight=_middle([one.in_flight for one in seen]),
        latency=_middle([one.latency for one in seen]),
        goodput=_middle([one.goodput for one in seen]),
    )


def _middle(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _moved(rungs: Sequence[Rung], knee: float | None) -> float | None:
    """(max − min) / median of P95 over the repeats of a load, at its worst below the knee.

    Past the knee P95 grows with the time one waits, so it says nothing there.
    """
    by_rate: dict[float, list[float]] = {}
    for rung in rungs:
        below = knee is None or rung.rate < knee
        if below and rung.observed and rung.observed.latency:
            by_rate.setdefault(rung.rate, []).append(rung.observed.latency)
    moves = [
        (max(found) - min(found)) / median(found) for found in by_rate.values() if len(found) > 1
    ]
    return max(moves, default=None)


def _left_out(rungs: Sequence[Rung]) -> list[str]:
    return [
        f"{rung.rate:g} requests/s in repeat {rung.repeat + 1} was left out: {rung.note}"
        for rung in rungs
        if rung.observed is None
    ]


def _reproduces(repeats: int, moved: float | None) -> list[str]:
    if repeats < THREE:
        return ["Whether it reproduces takes three repeats to say."]
    if moved is None or moved < MOVES:
        return []
    told = f"Not reproducible: below the knee P95 moves by {100 * moved:.0f} % between repeats"
    return [f"{told}, where under {100 * MOVES:.0f} % is asked. Make each load longer."]
