"""Tasks of mixed lengths under one law that sees latency raw, per token, or for its own work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from loadtest.reproduce.plan import Plan, cell, law, measure
from loadtest.reproduce.series import below
from loadtest.reproduce.table import Finding, Row
from schedulers.concurrency.base import ConcurrencyLaw, Observation
from schedulers.decision import Decision, DecisionPoint
from simulator.plants.congestion import Congestion
from simulator.plants.run import Load, run
from simulator.plants.work import TOKEN_WORK_MEAN, Work

PLANT = Congestion()
Divisor = Callable[[int, int], float]
"""What a latency is divided by, of prompt and output tokens."""


@dataclass(frozen=True, slots=True)
class Divided:
    """A law that is shown each latency divided by something of its request."""

    law: ConcurrencyLaw[Any]
    by: Divisor

    def start(self) -> Any:
        return self.law.start()

    def step(self, state: Any, seen: Observation, now: float) -> tuple[Any, Decision | None]:
        if seen.latency is not None:
            by = self.by(seen.prompt_tokens or 1, seen.output_tokens or 1)
            seen = replace(seen, latency=seen.latency / by)
        return self.law.step(state, seen, now)

    def limit(self, state: Any) -> int:
        return self.law.limit(state)

    def until(self, state: Any) -> float:
        return self.law.until(state)


def _work(prompt: int, output: int) -> float:
    """The plant's own cost of a task, which no client knows."""
    return 0.05 + 2e-4 * prompt + 0.01 * output


def _tokens(prompt: int, output: int) -> float:
    """What a client does know."""
    return prompt + output


def _attained(tested: Any, tasks: int, seed: int) -> dict[str, float]:
    """Tasks a second."""
    work, loads = Work(dist="tokens"), ((tested, Load(tasks=tasks)),)
    return {"rate": tasks / run(PLANT, work, loads, seed=seed).seconds}


def play(plan: Plan) -> tuple[list[Row], list[Finding]]:
    """The reference law three ways, the corrected law on raw latency."""

    def named(name: str, **parameters: Any) -> Any:
        return law(DecisionPoint.CONCURRENCY, name, **parameters)

    reference = named("gradient_reference", signal="e2e")
    per_token: Any = Divided(reference, _tokens)
    by_work: Any = Divided(reference, _work)
    laws = (reference, per_token, by_work, named("adaptive_bdp"), named("fixed", size=45))
    tasks = 1200 if plan.reduced else 6000
    seen = [measure(plan, partial(_attained, tested, tasks)) for tested in laws]
    raw, each, known, ours, fixed = (one["rate"] for one in seen)
    case, unit = "mixed lengths", "tasks/s"
    rows = [
        Row(
            case=case,
            measure="throughput, law on raw latency",
            unit=unit,
            reference=cell(raw),
            corrected=cell(ours),
            best_fixed=cell(fixed, "45"),
            optimum=cell(PLANT.capacity / TOKEN_WORK_MEAN),
        ),
        Row(case=case, measure="… on latency per token", unit=unit, reference=cell(each)),
        Row(case=case, measure="… on latency for its work", unit=unit, reference=cell(known)),
    ]
    sentence = (
        "Latency per token doesn't make tasks of mixed lengths alike: the reference law does "
        f"{raw.mean:.2f} tasks a second on raw latency, {each.mean:.2f} per token, and "
        f"{known.mean:.2f} only when told the server's own cost of each task; the corrected law "
        f"does {ours.mean:.2f} without knowing any length."
    )
    held = below(raw, ours, times=2) and below(each, ours, times=2) and below(each, known)
    return rows, [Finding(sentence, held)]
