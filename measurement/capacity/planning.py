"""Every method on the same measured points: the capacity page and ``headway capacity``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from measurement.capacity import batching, little_law, pollaczek_khinchine
from measurement.capacity.batching import Caps, Lengths, Steps
from measurement.capacity.estimate import Estimate
from measurement.capacity.instances import Instances, headroom, needed, slo_load
from measurement.capacity.knee import RepeatedKnee, over_repeats
from measurement.capacity.observed import Observed


@dataclass(frozen=True, slots=True)
class Question:
    """What is planned for: requests/s, the SLO's target, and what bounds the engine's batch."""

    load: float
    target: float | None = None
    caps: Caps = field(default_factory=Caps)


@dataclass(frozen=True, slots=True)
class Row:
    """What the methods say at one measured load."""

    point: Observed
    in_flight: Estimate
    sequences: Estimate | None
    wait: Estimate | None


@dataclass(frozen=True, slots=True)
class Plan:
    rows: tuple[Row, ...]
    knee: RepeatedKnee
    steps: Steps | None
    most: Estimate | None
    """Requests/s of one instance by the batching balance, against the knee."""
    slo: float | None
    """The highest load at which the SLO holds."""
    instances: Instances
    headroom: float | None
    """What is left of one instance's knee at the load asked about."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "knee": self.knee.to_json(),
            "slo_load": self.slo,
            "instances": self.instances.to_json(),
            "headroom": self.headroom,
            "most": self.most.to_json() if self.most else None,
            "steps_ms": None
            if self.steps is None
            else {
                "t0": 1e3 * self.steps.fixed,
                "t1": 1e3 * self.steps.per_sequence,
                "t_p": 1e3 * self.steps.per_prompt_token,
            },
            "loads": [
                {
                    **row.point.to_json(),
                    "estimates": [
                        one.to_json() for one in (row.in_flight, row.sequences, row.wait) if one
                    ],
                }
                for row in self.rows
            ],
        }


def plan(ladders: Sequence[Sequence[Observed]], question: Question) -> Plan:
    """From one ladder of points, or one a repeat."""
    points = sorted((p for ladder in ladders for p in ladder), key=lambda point: point.rate)
    steps = batching.fit(points)
    knee = over_repeats(ladders)
    slo = slo_load(points, question.target) if question.target is not None else None
    return Plan(
        rows=tuple(_row(point, points, steps, question.caps) for point in points),
        knee=knee,
        steps=steps,
        most=_most(points, steps, question.caps, knee.load),
        slo=slo,
        instances=needed(question.load, knee=knee, slo=slo),
        headroom=headroom(question.load, knee.load) if knee.load else None,
    )


def curve(points: Sequence[Observed], steps: Steps, rates: Sequence[float]) -> list[float | None]:
    """Sequences at a time by the balance, at each rate; None past what it can carry."""
    lengths = _lengths(points)
    if lengths is None:
        return [None] * len(rates)
    found = [batching.running(rate, lengths, steps) for rate in rates]
    return [None if math.isinf(n) else n for n in found]


def waits(points: Sequence[Observed], steps: Steps, rates: Sequence[float]) -> list[float | None]:
    """Mean seconds of waiting by Pollaczek–Khinchine, at each rate; None from saturation on."""
    known = [p.moments for p in points if p.moments]
    work = pollaczek_khinchine.marginal_work(known[-1], steps) if known else None
    if work is None:
        return [None] * len(rates)
    found = [pollaczek_khinchine.wait(rate, work) for rate in rates]
    return [None if math.isinf(seconds) else seconds for seconds in found]


def _row(point: Observed, points: Sequence[Observed], steps: Steps | None, caps: Caps) -> Row:
    return Row(
        point=point,
        in_flight=little_law.in_flight(point),
        sequences=batching.sequences(point, steps, caps) if steps else None,
        wait=_wait(point, points, steps) if steps else None,
    )


def _wait(point: Observed, points: Sequence[Observed], steps: Steps) -> Estimate | None:
    """The wait is what TTFT grew by over the least that was seen."""
    work = pollaczek_khinchine.marginal_work(point.moments, steps) if point.moments else None
    if work is None or point.moments is None:
        return None
    firsts = [p.moments.ttft for p in points if p.moments and p.moments.ttft is not None]
    own = point.moments.ttft
    grown = own - min(firsts) if own is not None else None
    return pollaczek_khinchine.estimate(point.rate, work, measured=grown)


def _most(
    points: Sequence[Observed], steps: Steps | None, caps: Caps, knee: float | None
) -> Estimate | None:
    lengths = _lengths(points)
    if steps is None or lengths is None:
        return None
    return batching.largest_rate(lengths, steps, caps, measured=knee)


def _lengths(points: Sequence[Observed]) -> Lengths | None:
    """Of the load with most requests behind it."""
    known = [p for p in points if p.moments and Lengths.of(p)]
    most = max(known, key=lambda p: p.moments.n if p.moments else 0, default=None)
    return Lengths.of(most) if most else None
