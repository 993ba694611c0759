"""The queueing source: theory as the scheduler's coordinates, a dual objective, slack in order."""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar

from loadtest.reproduce import due_orders, heavy_tails, load_sweep, preempted
from loadtest.reproduce.plan import Plan, cell, measure
from loadtest.reproduce.series import below
from loadtest.reproduce.served.experiment import Claim, Experiment
from loadtest.reproduce.systems.base import system
from loadtest.reproduce.table import Finding, Reproduction, Row
from simulator.plants.sizes import Lognormal

BUSY, SIGMA = heavy_tails.BUSY, 0.6


@system
class QueueingSystem:
    """The generator against theory, the sweep of its configuration, and orders by deadline."""

    name: ClassVar[str] = "queueing"
    summary: ClassVar[str] = (
        "one server against Pollaczek–Khinchine at load 0.85, with log-normal sizes and with "
        "Pareto tails; the source's configuration on the engine model (`qwen3-32b-h100-tp2`) from "
        "2 to 40 requests a second, its own 20 among them, with Little's law; 6,000 requests with "
        "deadlines of 0.5, 2 and 10 s at loads 0.95, 1.1 and 1.5; 48 answers of 1,000 tokens where "
        "memory is short, over three links to the host"
    )
    laws: ClassVar[str] = (
        "reference: arrivals spaced 1/rate, attainment of answers, `slack_density` with κ 0 that "
        "drops nothing; corrected: Poisson, attainment of arrivals, `slack_density`; best fixed: "
        "of 32, 64, 128, 256 sequences, of `fcfs`, `edf`, `sjf` by the "
        "share in time; preemption by `lifo`: reference "
        "`recompute`, corrected `auto`, best fixed `swap`"
    )
    passes: ClassVar[tuple[int, int]] = (89, 51)
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
        for before in (self._generator, heavy_tails.play):
            more, said = before(plan)
            rows += more
            findings += said
        swept, told, curves = load_sweep.play(plan)
        rows += swept
        findings += told
        for behind in (due_orders.play, preempted.play):
            more, said = behind(plan)
            rows += more
            findings += said
        return Reproduction(tuple(rows), tuple(findings), tuple(curves))

    def _generator(self, plan: Plan) -> tuple[list[Row], list[Finding]]:
        count = 100_000 if plan.reduced else 400_000
        waits = [
            measure(plan, partial(heavy_tails.waits, Lognormal(SIGMA), gap, count))
            for gap in ("spaced", "drawn")
        ]
        spaced, drawn = (one["wait"] for one in waits)
        theory = heavy_tails.theory(Lognormal(SIGMA))
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
