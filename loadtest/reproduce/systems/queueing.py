"""The queueing source: theory as the scheduler's coordinates, a dual objective, slack in order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from loadtest.reproduce import load_sweep, preempted
from loadtest.reproduce.plan import Plan, cell, law, measure
from loadtest.reproduce.series import Series, below, best
from loadtest.reproduce.served.experiment import Claim, Experiment
from loadtest.reproduce.systems.base import system
from loadtest.reproduce.table import Finding, Reproduction, Row
from schedulers.decision import DecisionPoint
from simulator.plants import deadlines

BUSY, SIGMA = 0.85, 0.6
LOADS = (0.95, 1.1, 1.5)
ORDERS = ("fcfs", "edf", "sjf")
SLACKS: Mapping[str, Mapping[str, Any]] = {
    "own": {"kappa": 0.0, "drop_hopeless": False},
    "ours": {},
    "dropping": {"kappa": 0.0},
    "keeping": {"drop_hopeless": False},
}
"""The source's order and Headway's; each with what only the other does with the hopeless."""


def _waits(gap: str, count: int, seed: int) -> dict[str, float]:
    """Mean wait before one server, in mean services (Lindley's recursion)."""
    rng = np.random.default_rng([seed, 4])
    services = np.exp(rng.normal(0.0, SIGMA, count) - SIGMA**2 / 2)
    gaps = np.ones(count) if gap == "spaced" else rng.exponential(1.0, count)
    steps = np.concatenate(([0.0], services[:-1] - gaps[1:] / BUSY))
    walk = np.cumsum(steps)
    return {"wait": float(np.mean(walk - np.minimum.accumulate(walk)))}


def _in_time(tested: Any, load: float, requests: int, seed: int) -> dict[str, float]:
    seen = deadlines.play(tested, load, seed, requests=requests)
    return {"in_time": 100.0 * seen.attained}


def _orders_at(plan: Plan, load: float, requests: int) -> dict[str, Mapping[str, Series]]:
    """SLACKS, and the others by their names."""

    def seen(name: str, **parameters: Any) -> Mapping[str, Series]:
        tested = law(DecisionPoint.ORDERING, name, **parameters)
        return measure(plan, partial(_in_time, tested, load, requests))

    slacks = {name: seen("slack_density", **parameters) for name, parameters in SLACKS.items()}
    return slacks | {name: seen(name) for name in ORDERS}


def _most(load: float) -> float:
    """The share of arrivals that one server has time for, if it serves the smallest: those below
    the size under which lie 1/load of all work."""
    if load <= 1.0:
        return 1.0
    normal = NormalDist()
    return normal.cdf(normal.inv_cdf(1.0 / load) + deadlines.SIGMA)


@system
class QueueingSystem:
    """The generator against theory, the sweep of its configuration, and orders by deadline."""

    name: ClassVar[str] = "queueing"
    summary: ClassVar[str] = (
        "one server against Pollaczek–Khinchine at load 0.85; the source's configuration on the "
        "engine model (`qwen3-32b-h100-tp2`) from 2 to 40 requests a second, its own 20 among "
        "them; 6,000 requests with deadlines of 0.5, 2 and 10 s at loads 0.95, 1.1 and 1.5; "
        "48 answers of 1,000 tokens where memory is short, over three links to the host"
    )
    laws: ClassVar[str] = (
        "reference: arrivals spaced 1/rate, attainment of answers, `slack_density` with κ 0 that "
        "drops nothing; corrected: Poisson, attainment of arrivals, `slack_density`; best fixed: "
        "of 32, 64, 128, 256 sequences, of `fcfs`, `edf`, `sjf`; preemption by `lifo`: reference "
        "`recompute`, corrected `auto`, best fixed `swap`"
    )
    passes: ClassVar[tuple[int, int]] = (71, 33)
    has_day: ClassVar[bool] = False

    served: ClassVar[Experiment] = Experiment(
        summary=(
            "three tenants whose first tokens are due in 0.5, 2 and 10 s, 40 requests a second for "
            "20 s against the engine model as a server, 8 in flight at most"
        ),
        load={
            "workload": {
                "kind": "synthetic",
                "prompt_tokens_mean": 64,
                "prompt_tokens_sigma": 0.8,
                "output_tokens_mean": 32,
                "output_tokens_sigma": 0.8,
                "tenants": {"soon": 0.3, "later": 0.4, "whenever": 0.3},
            },
            "slo": {
                "apiVersion": "headway/v1",
                "kind": "SLO",
                "metadata": {"name": "deadlines"},
                "spec": {
                    "target": 0.99,
                    "objectives": [{"metric": "ttft_ms", "max": 2000}],
                    "tenants": {"soon": {"ttft_ms": 500}, "whenever": {"ttft_ms": 10_000}},
                },
            },
            "arrivals": {"process": "poisson", "rate": 40.0},
            "duration_s": 20.0,
        },
        arms={
            "reference": {
                "concurrency": {"law": "fixed", "limit": 8},
                "ordering": {"law": "slack_density", "kappa": 0.0, "drop_hopeless": False},
            },
            "corrected": {
                "concurrency": {"law": "fixed", "limit": 8},
                "ordering": {"law": "slack_density"},
            },
            "best fixed": {
                "concurrency": {"law": "fixed", "limit": 8},
                "ordering": {"law": "edf"},
            },
        },
        measures=(
            ("in time", "in time, of arrivals", "%"),
            ("answered", "answers", "a second"),
            ("soon in time", "due in 0.5 s: in time", "%"),
            ("whenever in time", "due in 10 s: in time", "%"),
        ),
        claims=(
            Claim(
                ("reference", "in time"),
                ("corrected", "in time"),
                "Least slack first without dropping serves those who are already late: {low} % in "
                "time over HTTP, {high} with size counted and the hopeless dropped.",
            ),
        ),
    )

    def play(self, plan: Plan) -> Reproduction:
        rows, findings = [], []
        for part in (self._generator, load_sweep.play, self._orders, preempted.play):
            more, said = part(plan)
            rows += more
            findings += said
        return Reproduction(tuple(rows), tuple(findings))

    def _generator(self, plan: Plan) -> tuple[list[Row], list[Finding]]:
        count = 100_000 if plan.reduced else 400_000
        waits = [measure(plan, partial(_waits, gap, count)) for gap in ("spaced", "drawn")]
        spaced, drawn = (one["wait"] for one in waits)
        theory = BUSY * math.exp(SIGMA**2) / (2 * (1 - BUSY))
        case = f"one server, load {BUSY}, σ {SIGMA}"
        rows = [
            Row(
                case=case,
                measure="mean wait",
                unit="mean services",
                reference=cell(spaced),
                corrected=cell(drawn),
                optimum=cell(theory, "Pollaczek–Khinchine"),
            ),
            Row(
                case=case,
                measure="what the spread multiplies the wait by",
                claimed=cell("4 to 5"),
                optimum=cell(math.exp(SIGMA**2), "e^σ²"),
            ),
        ]
        sentence = (
            "A generator that sleeps 1/rate isn't Poisson: it makes a mean wait of "
            f"{spaced.mean:.2f} services where theory and Poisson arrivals have {theory:.2f} and "
            f"{drawn.mean:.2f}, so its knee is too good to be true."
        )
        held = below(spaced, drawn, times=2) and abs(drawn.mean / theory - 1) < 0.15
        return rows, [Finding(sentence, held)]

    def _orders(self, plan: Plan) -> tuple[list[Row], list[Finding]]:
        requests = 1200 if plan.reduced else 6000
        rows = list[Row]()
        own, ours = dict[float, Series](), dict[float, Series]()
        played = {load: _orders_at(plan, load, requests) for load in LOADS}
        for load, seen in played.items():
            own[load], ours[load] = (seen[name]["in_time"] for name in ("own", "ours"))
            orders = {name: seen[name] for name in ORDERS}
            chosen = best(orders, "in_time")
            rows.append(
                Row(
                    case="deadlines",
                    measure=f"in time at load {load}, of arrivals",
                    unit="%",
                    reference=cell(own[load]),
                    corrected=cell(ours[load]),
                    best_fixed=cell(orders[chosen]["in_time"], chosen),
                    optimum=cell(100.0 * _most(load), "the smallest that fit"),
                )
            )
            rows.append(
                Row(
                    case="deadlines",
                    measure=f"… with the other's way with the hopeless, load {load}",
                    unit="%",
                    reference=cell(seen["dropping"]["in_time"], "drops"),
                    corrected=cell(seen["keeping"]["in_time"], "drops none"),
                )
            )
        dropping, keeping = (played[1.1][name]["in_time"] for name in ("dropping", "keeping"))
        sentence = (
            "Least slack first without dropping serves those who are already late: at load 1.1 it "
            f"has {own[1.1].mean:.1f} % in time; with size counted and the hopeless dropped "
            f"{ours[1.1].mean:.1f} %. It is dropping that does it: alone it has "
            f"{dropping.mean:.1f} %, size alone {keeping.mean:.1f} %."
        )
        held = all(below(own[load], ours[load]) for load in LOADS) and below(keeping, dropping)
        return rows, [Finding(sentence, held)]
