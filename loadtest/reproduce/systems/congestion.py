"""The congestion source: adaptive client concurrency for bulk evaluation, 2,000 tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from loadtest.reproduce import mixed_lengths
from loadtest.reproduce.curve import Curve, line, points
from loadtest.reproduce.plan import Plan, cell, law, measure
from loadtest.reproduce.series import Series, below, best
from loadtest.reproduce.served.experiment import Claim, Experiment
from loadtest.reproduce.systems.base import system
from loadtest.reproduce.table import Finding, Reproduction, Row
from schedulers.decision import DecisionPoint
from simulator.plants import measures as m
from simulator.plants.congestion import Congestion
from simulator.plants.run import Client, Load, run
from simulator.plants.work import Work

PLANT = Congestion()
TASKS = 2000
SPREADS = (0.0, 0.1, 0.3)
FIXED = (40, 45, 50, 55)
CLAIMED = {"makespan_s": 98.4, "refused": 0.0, "p50_s": 0.48, "p99_s": 0.85, "variance": 8.2}
STRATEGIES = (
    ("its fixed 64", {"makespan_s": 184.2, "refused": 382.0, "p50_s": 2.85, "p99_s": 6.4,
                      "variance": 412.5}),
    ("its AIMD", {"makespan_s": 142.5, "refused": 86.0, "p50_s": 1.42, "p99_s": 4.1,
                  "variance": 185.0}),
)  # fmt: skip
MEASURES = (
    ("makespan_s", "makespan", "s"),
    ("refused", "429s", ""),
    ("p50_s", "latency P50", "s"),
    ("p99_s", "latency P99", "s"),
    ("variance", "variance of completions each second", ""),
    ("in_flight", "in flight, by Little's law", ""),
)
FOURTHS = ("first", "second", "third", "last")
"""Of a run."""
WATCHED = tuple(range(60))
"""Seconds from the start in which a curve shows the limit: afterwards it stays as it is."""
EXPIRIES = ("before any", "after one", "after two", "after three")
Numbers = Mapping[str, Series]


def _law(name: str, **parameters: Any) -> Any:
    return law(DecisionPoint.CONCURRENCY, name, **parameters)


def _tasks(tested: Any, work: Work, seed: int) -> dict[str, float]:
    """All tasks at once, until the last is done."""
    seen = run(PLANT, work, ((tested, Load(tasks=TASKS)),), seed=seed)
    client = seen.clients[0]
    seconds = np.bincount(np.array(client.ended, dtype=np.int64))[:-1]
    return {
        "makespan_s": seen.seconds,
        "refused": float(m.refused(seen)),
        "p50_s": m.quantile(client.latencies, 0.5),
        "p99_s": m.quantile(client.latencies, 0.99),
        "variance": float(seconds.var()) if len(seconds) else 0.0,
        "in_flight": sum(client.latencies) / seen.seconds,
        **{
            f"limit {name}": m.mean_limit(client, seen.seconds * i / 4, seen.seconds * (i + 1) / 4)
            for i, name in enumerate(FOURTHS)
        },
        **points("limit", [_limit_in(client, at, seen.seconds) for at in WATCHED]),
    }


def _limit_in(client: Client, second: int, over_at: float) -> float:
    """Its mean in that second of a run; infinity once the run is over."""
    return m.mean_limit(client, second, second + 1) if second + 1 <= over_at else math.inf


def _spread(plan: Plan, sigma: float, tested: Any) -> Mapping[str, Series]:
    work = Work(sigma=sigma)
    return measure(plan, partial(_tasks, tested, work))


def _told(numbers: Mapping[str, float]) -> dict[str, float]:
    """Little's law over what was claimed: tasks a second × latency."""
    return {**numbers, "in_flight": round(TASKS / numbers["makespan_s"] * numbers["p50_s"], 1)}


OPTIMA = {"makespan_s": TASKS / PLANT.optimum, "refused": 0.0, "p50_s": PLANT.base_s}


@system
class CongestionSystem:
    """Tables by spread of the work, the two other strategies, expiry, mixed lengths."""

    name: ClassVar[str] = "congestion"
    summary: ClassVar[str] = (
        "2,000 tasks from one client against a server that is safe with 45 in flight, queues past "
        "55 and refuses past 70; then 40 minutes of expiry, then tasks of mixed lengths"
    )
    laws: ClassVar[str] = (
        "reference `gradient_reference`, corrected `adaptive_bdp`, best fixed of 40, 45, 50, 55"
    )
    passes: ClassVar[tuple[int, int]] = (25, 25)
    has_day: ClassVar[bool] = False

    served: ClassVar[Experiment] = Experiment(
        summary=(
            "a bulk client with 128 tasks at hand for 15 s against the engine model as a server "
            "that refuses past 70 requests; answers of 32 tokens in the mean"
        ),
        engine=("--max-queued-requests", "70"),
        load={
            "workload": {
                "kind": "synthetic",
                "prompt_tokens_mean": 64,
                "output_tokens_mean": 32,
                "output_tokens_sigma": 0.3,
            },
            "arrivals": {"process": "closed", "concurrency": 128},
            "duration_s": 15.0,
        },
        arms={
            "reference": {"concurrency": {"law": "gradient_reference"}},
            "corrected": {"concurrency": {"law": "adaptive_bdp"}},
            "best fixed": {"concurrency": {"law": "fixed", "limit": 50}},
        },
        measures=(
            ("answered", "answers", "a second"),
            ("refused", "refused by the server", "%"),
            ("e2e p50", "end to end P50", "ms"),
            ("e2e p95", "end to end P95", "ms"),
        ),
        claims=(
            Claim(
                ("reference", "answered"),
                ("corrected", "answered"),
                "Lengths that differ are a queue to the reference law over HTTP too: {low} answers "
                "a second, {high} with the corrected one.",
            ),
        ),
    )

    def play(self, plan: Plan) -> Reproduction:
        rows, findings, curves = [], [], []
        for sigma in SPREADS:
            more, said, curve = self._by_spread(plan, sigma)
            rows += more
            findings += said
            curves.append(curve)
        for part in (self._strategies, self._expiry, mixed_lengths.play):
            more, said = part(plan)
            rows += more
            findings += said
        return Reproduction(tuple(rows), tuple(findings), tuple(curves))

    def _by_spread(self, plan: Plan, sigma: float) -> tuple[list[Row], list[Finding], Curve]:
        reference = _spread(plan, sigma, _law("gradient_reference"))
        corrected = _spread(plan, sigma, _law("adaptive_bdp"))
        fixed = {str(n): _spread(plan, sigma, _law("fixed", size=n)) for n in FIXED}
        chosen = best(fixed, "makespan_s", least=True)
        told = _told(CLAIMED)
        rows = [
            Row(
                case=f"work σ {sigma}",
                measure=words,
                unit=unit,
                claimed=cell(told[key]),
                reference=cell(reference[key]),
                corrected=cell(corrected[key]),
                best_fixed=cell(fixed[chosen][key], chosen),
                optimum=cell(OPTIMA.get(key)),
            )
            for key, words, unit in MEASURES
        ]
        rows += [
            Row(
                case=f"limit over the run, σ {sigma}",
                measure=f"mean, {name} fourth",
                unit="tasks",
                reference=cell(reference[f"limit {name}"]),
                corrected=cell(corrected[f"limit {name}"]),
                best_fixed=cell(fixed[chosen][f"limit {name}"], chosen),
            )
            for name in FOURTHS
        ]
        curve = Curve(
            case="limit over the run",
            measure=f"work σ {sigma}",
            unit="tasks",
            along="s",
            x=WATCHED,
            lines=(
                line("reference law", reference, "limit", len(WATCHED)),
                line("corrected law", corrected, "limit", len(WATCHED)),
                line("best fixed setting", fixed[chosen], "limit", len(WATCHED), chosen),
            ),
        )
        return rows, _explained(sigma, reference, corrected), curve

    def _strategies(self, plan: Plan) -> tuple[list[Row], list[Finding]]:
        laws = (_law("fixed", size=64), _law("aimd", backoff=0.5, min=2))
        rows, seen = [], []
        for (case, claimed), tested in zip(STRATEGIES, laws, strict=True):
            numbers = _spread(plan, 0.1, tested)
            seen.append(numbers)
            told = _told(claimed)
            rows += [
                Row(
                    case=f"{case}, σ 0.1",
                    measure=words,
                    unit=unit,
                    claimed=cell(told[key]),
                    reference=cell(numbers[key]),
                )
                for key, words, unit in MEASURES
            ]
        stuck = seen[0]["refused"]
        said = Finding(
            "A fixed 64 can meet no refusal where refusals begin past 70: "
            f"{max(stuck.values):.0f} 429s, not 382.",
            max(stuck.values) == 0.0,
        )
        return rows, [said]

    def _expiry(self, plan: Plan) -> tuple[list[Row], list[Finding]]:
        """Work without spread, where the reference law works at all; one run, as nothing is drawn.

        Reduced: its baseline expires after 30 s instead of 600.
        """
        period = 30.0 if plan.reduced else 600.0
        laws = (_law("gradient_reference", expiry_s=period), _law("adaptive_bdp"))
        highest = []
        for tested in laws:
            loads = ((tested, Load()),)
            seen = run(PLANT, Work(sigma=0.0), loads, end_s=4 * period, seed=1)
            spans = [(period * i, period * (i + 1)) for i in range(1, 4)]
            first = m.highest(seen.clients[0], 0.5 * period, period)
            highest.append([first, *(m.highest(seen.clients[0], *span) for span in spans)])
        own, ours = highest
        rows = [
            Row(
                case=f"expiry every {period:.0f} s, σ 0",
                measure=f"highest limit {when}",
                reference=cell(float(own[i])),
                corrected=cell(float(ours[i])),
            )
            for i, when in enumerate(EXPIRIES)
        ]
        sentence = (
            "Learning the minimum anew under load takes the queue for the idle server: the "
            f"reference law's limit creeps from {own[0]} to {own[3]} in three expiries; the "
            f"corrected one's, which moves its baseline by verification only, ends at {ours[3]} "
            f"after {ours[0]}."
        )
        return rows, [Finding(sentence, own[3] > own[0] and ours[3] <= 1.03 * ours[0] + 1)]


def _explained(sigma: float, reference: Numbers, corrected: Numbers) -> list[Finding]:
    """What the reference law's median against its minimum does with that spread."""
    own, ours = reference["makespan_s"], corrected["makespan_s"]
    zero = all(value == 0.0 for value in corrected["refused"].values)
    if sigma == 0.0:
        told = _told(CLAIMED)["in_flight"]
        return [
            Finding(
                f"By the source's own numbers {told:.1f} tasks were in flight, not the 42 to 48 "
                f"told; without spread its law holds {reference['in_flight'].mean:.0f} and ends "
                f"after {own.mean:.1f} s (the corrected one: {ours.mean:.1f}), so the table "
                "is not of the plant that it describes.",
                below(own, 0.5 * CLAIMED["makespan_s"]),
            )
        ]
    return [
        Finding(
            f"With σ {sigma} a median is above a minimum without any queue: the reference law "
            f"holds {reference['in_flight'].mean:.1f} in flight and takes {own.mean:.0f} s, "
            f"{own.over(ours).mean:.1f} times the corrected law, which compares medians with "
            "medians and meets no 429.",
            below(ours, own) and zero,
        ),
        Finding(
            "A small variance of throughput goes with a small throughput: the reference law's "
            f"{reference['variance'].mean:.1f} is that of {TASKS / own.mean:.1f} tasks a second.",
            below(reference["variance"], corrected["variance"]) and below(ours, own),
        ),
    ]
