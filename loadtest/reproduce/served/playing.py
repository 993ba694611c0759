"""Each arm of an experiment with each seed: one engine process, one load test after the other."""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engines.egress import EgressRules
from loadtest.ab.engines import engine_process
from loadtest.conclusion import Conclusion
from loadtest.execution import Order, execute
from loadtest.facts import Facts
from loadtest.news import News
from loadtest.reproduce.plan import Plan, cell
from loadtest.reproduce.series import Series
from loadtest.reproduce.served.experiment import ARMS, Experiment, Numbers
from loadtest.reproduce.table import Finding, Reproduction, Row
from loadtest.scenario import Scenario
from measurement.quantiles import Quantiles


class _Unwatched:
    """Nobody follows the runs."""

    def started(self, scenario: Scenario, facts: Facts) -> None:
        pass

    def news(self, news: News) -> None:
        pass

    def concluded(self, conclusion: Conclusion) -> None:
        pass


async def play(experiment: Experiment, plan: Plan) -> Reproduction:
    """All of it. Arms take turns within a seed, so that a slow minute meets all of them."""
    arms = [arm for arm in ARMS if arm in experiment.arms]
    found: dict[str, list[_Run]] = {arm: [] for arm in arms}
    for seed in plan.seeds:
        for place, arm in enumerate(arms):
            plan.part(place / len(arms))
            found[arm].append(await _one(experiment, arm, seed, reduced=plan.reduced))
        plan.ended()
    seen = {
        arm: {key: Series(tuple(run.numbers[key] for run in runs)) for key in runs[0].numbers}
        for arm, runs in found.items()
    }
    claims = () if plan.reduced else experiment.claims
    findings = [*(claim.found(seen) for claim in claims), _sound(found)]
    rows = [*_rows(experiment, seen), *_validity(found, plan.seeds)]
    return Reproduction(tuple(rows), tuple(findings))


def _sound(found: Mapping[str, Sequence[_Run]]) -> Finding:
    """A machine that is too busy to send and to serve in time measures itself."""
    runs = [run for arm in found.values() for run in arm]
    valid = sum(not run.invalid for run in runs)
    said = f"{valid} of {len(runs)} runs were in time with their own schedule, and so are valid."
    return Finding(said, valid == len(runs))


def _validity(found: Mapping[str, Sequence[_Run]], seeds: Sequence[int]) -> Iterator[Row]:
    """How many runs of each arm may be read, and of the others why not, by seed."""

    def cells(told: Mapping[str, str]) -> dict[str, Any]:
        return {arm.replace(" ", "_"): cell(told.get(arm)) for arm in ARMS}

    counted = {
        arm: f"{sum(not run.invalid for run in runs)} of {len(runs)}" for arm, runs in found.items()
    }
    yield Row(case="over HTTP", measure="valid runs", **cells(counted))
    for place, seed in enumerate(seeds):
        runs = {arm: runs[place] for arm, runs in found.items()}
        if any(run.invalid for run in runs.values()):
            told = {arm: run.invalid or "valid" for arm, run in runs.items()}
            yield Row(case="invalid, and why", measure=f"seed {seed}", **cells(told))


@dataclass(frozen=True, slots=True)
class _Run:
    """One load test; ``invalid``: why its numbers say nothing, or empty."""

    numbers: Mapping[str, float]
    invalid: str


async def _one(experiment: Experiment, arm: str, seed: int, *, reduced: bool) -> _Run:
    """A fresh engine, so that no arm finds what another left in its cache or its queue."""
    options = experiment.engine
    async with engine_process(experiment.profile, seed=seed, options=options) as engine:
        scenario = experiment.scenario(arm, engine.url, seed, reduced=reduced)
        with tempfile.TemporaryDirectory(prefix="headway-served-") as out:
            order = Order(scenario, Path(out), EgressRules.loopback())
            conclusion = await execute(order, _Unwatched(), asyncio.Event())
    validity = conclusion.validity
    reasons = () if validity.valid else (*map(brief, validity.reasons),)
    return _Run(numbers(conclusion), "; ".join(reasons))


def brief(reason: str) -> str:
    """What was seen, without the bound and the remedy: a cell of a table has little room."""
    return reason.partition(", where ")[0].partition(". ")[0].rstrip(".")


def numbers(conclusion: Conclusion) -> dict[str, float]:
    """What the arms are compared by: of the whole run, and of each tenant."""
    part = conclusion.summary.steady
    seconds = max(part.seconds, 1e-9)
    found = {
        "answered": part.served_within / seconds,
        "in time": 100.0 * (part.attainment or 0.0),
        "refused": 100.0 * (part.rejection_rate or 0.0),
        "output": part.tokens_within / seconds,
        **_quantiles("ttft", part.latencies.get("ttft_ms")),
        **_quantiles("e2e", part.latencies.get("e2e_ms")),
    }
    for row in conclusion.summary.tenants:
        found |= {
            f"{row.tenant} in time": 100.0 * (row.joint.value or 0.0),
            f"{row.tenant} share": 100.0 * (row.token_share or 0.0),
            **_quantiles(f"{row.tenant} ttft", row.ttft_ms),
        }
    return found


def _quantiles(name: str, found: Quantiles | None) -> dict[str, float]:
    """P50 and P95; of too few, as far as they tell."""
    return {
        f"{name} {percent}": math.inf if found is None else _value(found, percent)
        for percent in ("p50", "p95")
    }


def _value(found: Quantiles, percent: str) -> float:
    value = getattr(found, percent)
    return float(found.rough.get(percent, math.inf)) if value is None else float(value)


def _rows(experiment: Experiment, seen: Numbers) -> list[Row]:
    def of(arm: str, key: str) -> Series | None:
        rows: Mapping[str, Series] = seen.get(arm, {})
        return rows.get(key)

    return [
        Row(
            case="over HTTP",
            measure=measured,
            unit=unit,
            reference=cell(of("reference", key)),
            corrected=cell(of("corrected", key)),
            best_fixed=cell(of("best fixed", key)),
        )
        for key, measured, unit in experiment.measures
    ]
