"""What the micro-wait gains, by rate: on an engine that only prefills, and word for word.

Headway's own law waits only while nothing decodes. The source's rule knows no such condition: at
its word each iteration begins by its wait, which the engine model plays as steps that much longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from loadtest.reproduce import day, passing
from loadtest.reproduce.plan import Plan, cell, law, measure
from loadtest.reproduce.series import Series, below
from loadtest.reproduce.table import Finding, Row
from schedulers.batching.base import Load
from schedulers.decision import DecisionPoint
from simulator.core.config import EngineConfig
from simulator.plants import micro_wait

RATES = (5.0, 20.0, 60.0, 100.0, 400.0)
WORD_RATES = (20.0, 40.0, 60.0)
_PROFILE = day.ENGINES["2024 engine"]


def alone_ms(config: EngineConfig, prompt: int = int(day.CHAT.prompt), count: int = 1) -> float:
    """A step that prefills so many prompts, and nothing else."""
    pairs = count * prompt**2 / 2
    return 1e3 * config.cost.seconds(count * prompt, 0, count, pairs)


def rule(name: str, config: EngineConfig | None = None) -> Any:
    """The micro-wait law by a rule; told what a first prompt costs an engine, if one is given."""
    first = {} if config is None else {"first_ms": alone_ms(config)}
    return law(DecisionPoint.BATCHING, "micro_wait", rule=name, **first)


def play(plan: Plan) -> tuple[list[Row], list[Finding]]:
    """The gain by rate, of the rule and of the gain rule; then the rule at its word."""
    rates = (5.0, 60.0, 400.0) if plan.reduced else RATES
    seconds = 20.0 if plan.reduced else 100.0
    gains = {rate: measure(plan, partial(_gained, rate, seconds)) for rate in rates}
    rows = [row for rate, seen in gains.items() for row in _rows(rate, seen)]
    word_rates = WORD_RATES[:1] if plan.reduced else WORD_RATES
    words = {rate: measure(plan, partial(_at_its_word, rate, seconds)) for rate in word_rates}
    rows += [_word_row(rate, seen) for rate, seen in words.items()]
    return rows, _explained(gains, words)


def _gained(rate: float, seconds: float, seed: int) -> dict[str, float]:
    plain, own, ours = (
        micro_wait.play(tested, rate, seed, seconds=seconds)
        for tested in (None, rule("reference"), rule("gain"))
    )
    return {
        "own": 1e3 * (own.mean_ttft - plain.mean_ttft),
        "ours": 1e3 * (ours.mean_ttft - plain.mean_ttft),
        "own saved": 100.0 * (plain.busy - own.busy) / plain.busy,
        "ours saved": 100.0 * (plain.busy - ours.busy) / plain.busy,
    }


def waits_ms(config: EngineConfig, rate: float) -> float:
    """What the source's rule says at a rate, whatever the engine is at."""
    plan = rule("reference", config).plan(None, Load(waiting=1, arrival_rate=rate), 0.0)
    return 1e3 * float(plan.wait_s)


def _at_its_word(rate: float, seconds: float, seed: int) -> dict[str, float]:
    """A constant rate through the newer engine, and through one whose steps wait first."""
    config = day.engine(_PROFILE)
    arrivals = day.Day((rate,), seconds).arrivals(seed)
    wait = waits_ms(config, rate)
    slow = replace(config, cost=replace(config.cost, t0_ms=config.cost.t0_ms + wait))
    free = law(DecisionPoint.BATCHING, "continuous")
    plain, late = (
        passing.latencies(passing.through(free, each, arrivals, seed).served)
        for each in (config, slow)
    )
    return {
        "wait": wait,
        "tpot": late["tpot"] - plain["tpot"],
        "ttft": late["ttft"] - plain["ttft"],
    }


def _rows(rate: float, seen: Mapping[str, Series]) -> list[Row]:
    case = f"only prefills, {rate:g}/s"
    return [
        Row(
            case=case,
            measure="TTFT over no wait",
            unit="ms",
            reference=cell(seen["own"]),
            corrected=cell(seen["ours"]),
            best_fixed=cell(0.0, "no wait"),
        ),
        Row(
            case=case,
            measure="busy time saved",
            unit="%",
            reference=cell(seen["own saved"]),
            corrected=cell(seen["ours saved"]),
        ),
    ]


def _word_row(rate: float, seen: Mapping[str, Series]) -> Row:
    return Row(
        case=f"wait before each step, {rate:g}/s",
        measure="TPOT over no wait",
        unit="ms",
        reference=cell(seen["tpot"], f"wait {seen['wait'].mean:.2f}"),
        corrected=cell(0.0, "never while decoding"),
    )


def _explained(
    gains: Mapping[float, Mapping[str, Series]], words: Mapping[float, Mapping[str, Series]]
) -> list[Finding]:
    least, most = min(gains), max(gains)
    costs = {rate: seen["own"] for rate, seen in gains.items()}
    dearest = max(costs, key=lambda rate: costs[rate].mean)
    saved = max(seen["own saved"].mean for seen in gains.values())
    slowest = max(words, key=lambda rate: words[rate]["tpot"].mean)
    tpot, wait = words[slowest]["tpot"], words[slowest]["wait"].mean
    nothing = Series(tuple(0.0 for _ in tpot.values))
    return [
        Finding(
            f"The micro-wait makes no mean first token earlier, from {least:g} to {most:g} "
            f"requests a second, and makes it {costs[dearest].mean:.2f} ms later at {dearest:g}/s, "
            f"for at most {saved:.1f} % of the engine's busy time: who joins saves a step, but all "
            "who wait pay.",
            below(nothing, costs[dearest])
            and not any(below(cost, nothing) for cost in costs.values())
            and saved < 10.0,
        ),
        Finding(
            f"At its word, before each iteration, the wait of {wait:.2f} ms at {slowest:g}/s is "
            f"paid by everyone who decodes: {tpot.mean:.2f} ms more for each token.",
            below(nothing, tpot) and tpot.mean >= 0.9 * wait > 0.0,
        ),
    ]
