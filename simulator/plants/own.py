"""A plant of one's own, from a YAML file: the plant, its work, its load and what happens to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from documents.fields import parameter
from documents.parse import build, unknown_keys
from documents.problem import DocumentError, Problem
from simulator.plants import measures as m
from simulator.plants.case import Maker, Numbers
from simulator.plants.congestion import Congestion, Step
from simulator.plants.run import ENDLESS, Load, run
from simulator.plants.work import TOKEN_WORK_MEAN, Work

PLANT_KEYS = ("capacity", "knee", "reject_at", "base_s", "top_s", "reject_s", "network_s")
KEYS = (*PLANT_KEYS, "work", "tasks", "arrivals", "steps", "end_s", "clients")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Poisson arrivals."""

    rate: float = parameter(
        minimum=0.0, exclusive_minimum=True, maximum=1e6, unit="1/s", help="Arrivals a second."
    )
    duration_s: float = parameter(
        minimum=0.0, exclusive_minimum=True, maximum=1e6, unit="s", help="For how long."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """How long, for how many tasks, and by how many clients of the same law."""

    tasks: int | None = parameter(
        default=None, minimum=1, maximum=10_000_000, help="Tasks of each client; empty: endless."
    )
    end_s: float = parameter(
        default=36_000.0,
        minimum=0.0,
        exclusive_minimum=True,
        maximum=1e6,
        unit="s",
        help="When it ends if the work doesn't.",
    )
    clients: int = parameter(default=1, minimum=1, maximum=64, help="Clients, each with the law.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """What one file says."""

    plant: Congestion
    work: Work
    play_for: Play
    arrivals: Arrivals | None
    steps: tuple[Step, ...]

    @property
    def optimum(self) -> float:
        """Tasks a second before the first step."""
        mean = TOKEN_WORK_MEAN if self.work.dist == "tokens" else self.plant.base_s
        return self.plant.capacity / mean

    def play(self, make: Maker, seed: int) -> Numbers:
        """One run."""
        load = Load(tasks=self.play_for.tasks or ENDLESS)
        wanted = self.optimum
        if self.arrivals is not None:
            load = Load(arrivals=_poisson(self.arrivals, seed))
            wanted = min(wanted, self.arrivals.rate)
        loads = tuple((make(), load) for _ in range(self.play_for.clients))
        seen = run(
            self.plant, self.work, loads, steps=self.steps, end_s=self.play_for.end_s, seed=seed
        )
        latencies = [value for client in seen.clients for value in client.latencies]
        done = len(latencies)
        return {
            "optimum": wanted,
            "attained": done / seen.seconds / wanted if seen.seconds else 0.0,
            "refused": m.refused(seen),
            "settle_s": m.settle(seen, 0.0, seen.seconds, wanted),
            "seconds": round(seen.seconds, 1),
            "p50_s": m.quantile(latencies, 0.5),
            "p99_s": m.quantile(latencies, 0.99),
            "limit": sum(client.limit for client in seen.clients),
            "highest": max(m.highest(client) for client in seen.clients),
        }


def _poisson(arrivals: Arrivals, seed: int) -> tuple[float, ...]:
    rng = np.random.default_rng([seed, 0xA])
    expected = arrivals.rate * arrivals.duration_s
    gaps = rng.exponential(1.0 / arrivals.rate, int(expected + 6 * expected**0.5 + 20))
    at = np.cumsum(gaps)
    return tuple(at[at < arrivals.duration_s].tolist())


def load(path: str) -> Own:
    """Read a plant file; DocumentError tells everything that is wrong with it."""
    try:
        given = yaml.safe_load(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DocumentError([Problem("plant-file", path, f"can't be read: {error}")]) from None
    return parse(given)


def parse(given: Any) -> Own:
    """The plant that a mapping describes."""
    if not isinstance(given, dict):
        raise DocumentError([Problem("", given, "must be a mapping of field: value")])
    problems = list(unknown_keys(given, KEYS))
    steps = given.get("steps", [])
    if not isinstance(steps, list):
        problems.append(Problem("steps", steps, "must be a list"))
    if "tasks" in given and "arrivals" in given:
        problems.append(Problem("arrivals", given["arrivals"], "excludes tasks; give one of them"))
    if not {"tasks", "arrivals", "end_s"} & set(given):
        problems.append(Problem("tasks", None, "is required, or arrivals, or end_s"))
    if problems:
        raise DocumentError(problems)
    plant = build(Congestion, {key: given[key] for key in PLANT_KEYS if key in given})
    found = [build(Step, step, path=f"steps[{i}]") for i, step in enumerate(steps)]
    found.sort(key=lambda step: step.at_s)
    _check(plant, found)
    arrivals = given.get("arrivals")
    return Own(
        plant=plant,
        work=build(Work, given.get("work", {}), path="work"),
        play_for=build(Play, {k: given[k] for k in ("tasks", "end_s", "clients") if k in given}),
        arrivals=None if arrivals is None else build(Arrivals, arrivals, path="arrivals"),
        steps=tuple(found),
    )


def _check(plant: Congestion, steps: list[Step]) -> None:
    """Every plant along the way must be one."""
    for i, step in enumerate(steps):
        try:
            plant = step.of(plant)
        except DocumentError as error:
            raise error.below(f"steps[{i}]") from None
