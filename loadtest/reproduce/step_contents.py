"""What a step holds: graphs of what sizes, and prompts whole or in chunks. The newer engine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from loadtest.reproduce import day, passing
from loadtest.reproduce.plan import Plan, cell, law, measure
from loadtest.reproduce.series import Series, below, best
from loadtest.reproduce.table import Finding, Row
from schedulers.decision import DecisionPoint
from simulator.virtual import Arrival

_PROFILE = day.ENGINES["2024 engine"]
BATCH = 64
"""Sequences of the source's batch, and its largest graph."""
RATE = 40.0
LONG, EVERY, LONG_RATE = 3000, 25, 5.0
"""Tokens of a long prompt; one request in so many has one; requests a second."""
BUDGETS = (512, 1024, 2048)


def graphs(spacing: str, waste: float) -> Any:
    """Captured sizes up to the source's batch."""
    sizes = {"spacing": spacing, "largest": BATCH, "pad_max": waste, "max_sequences": BATCH}
    return law(DecisionPoint.BATCHING, "graph_buckets", **sizes)


def play(plan: Plan) -> tuple[list[Row], list[Finding]]:
    """Graphs first, then chunks."""
    rows, findings = [], []
    for part in (_graphs, _chunks):
        more, said = part(plan)
        rows += more
        findings += said
    return rows, findings


def _graphs(plan: Plan) -> tuple[list[Row], list[Finding]]:
    seconds = 10.0 if plan.reduced else 120.0
    ways = {
        "doubling": graphs("doubling", 1.0),
        "eights": graphs("eights", 0.25),
        "none": graphs("eights", 0.0),
    }
    played = {name: measure(plan, partial(_padded, way, seconds)) for name, way in ways.items()}
    seen = {name: one["tpot"] for name, one in played.items()}
    worst = {
        name: 100.0 * max((ways[name].padded(n) or n) / n - 1.0 for n in range(1, BATCH + 1))
        for name in ways
    }
    rows = [
        Row(
            case=f"graphs, {RATE:g}/s",
            measure="TPOT",
            unit="ms",
            reference=cell(seen["doubling"], "1, 2, 4, 8 … 64"),
            corrected=cell(seen["eights"], "every eighth"),
            optimum=cell(seen["none"], "no padding, were it free"),
        ),
        Row(
            case=f"graphs, {RATE:g}/s",
            measure="empty places at worst",
            unit="%",
            reference=cell(worst["doubling"]),
            corrected=cell(worst["eights"]),
        ),
    ]
    sentence = (
        f"Sizes that double leave up to {worst['doubling']:.0f} % of a step's places empty, and a "
        f"token takes {seen['doubling'].mean:.2f} ms; every eighth, with a bound on waste, "
        f"{seen['eights'].mean:.2f}; without any padding {seen['none'].mean:.2f}. Most of a step "
        "is reading weights, so this is what graphs of the wrong size cost at most here."
    )
    return rows, [Finding(sentence, below(seen["eights"], seen["doubling"]))]


def _padded(way: Any, seconds: float, seed: int) -> dict[str, float]:
    arrivals = day.Day((RATE,), seconds).arrivals(seed)
    played = passing.through(way, day.engine(_PROFILE), arrivals, seed, graphs=way)
    return {"tpot": passing.latencies(played.served)["tpot"]}


def _chunks(plan: Plan) -> tuple[list[Row], list[Finding]]:
    seconds = 40.0 if plan.reduced else 240.0
    budgets = BUDGETS[:1] if plan.reduced else BUDGETS
    whole = day.engine(_PROFILE, chunked_prefill=False, token_budget=8192)
    chunked = day.engine(_PROFILE, token_budget=8192)
    free, ours = _law("continuous", token_budget=8192), _law("tpot_budget")
    own = measure(plan, partial(_long, free, whole, seconds))
    mine = measure(plan, partial(_long, ours, chunked, seconds))
    fixed = {
        str(budget): measure(
            plan,
            partial(_long, _law("continuous", token_budget=budget), chunked, seconds),
        )
        for budget in budgets
    }
    chosen = best(fixed, "step", least=True)
    case = f"one prompt in {EVERY} of {LONG:,} tokens"
    rows = [
        Row(
            case=case,
            measure=measured,
            unit="ms",
            reference=cell(own[key], "whole"),
            corrected=cell(mine[key]),
            best_fixed=cell(fixed[chosen][key], f"{int(chosen):,} a step"),
        )
        for key, measured in (
            ("step", "longest step with decodes in it"),
            ("long", "TTFT of the long ones"),
            ("tpot99", "TPOT P99 of all"),
        )
    ]
    return rows, [_chunked(own, mine, fixed[chosen], chosen)]


def _chunked(
    own: Mapping[str, Series], mine: Mapping[str, Series], fixed: Mapping[str, Series], chosen: str
) -> Finding:
    sentence = (
        f"A long prompt computed whole holds up everyone who decodes for {own['step'].mean:.0f} "
        f"ms; in chunks of what 100 ms a token leave over the longest step is "
        f"{mine['step'].mean:.0f} ms, with {int(chosen):,} tokens a step "
        f"{fixed['step'].mean:.0f}. The long one pays: {mine['long'].mean:.0f} ms to its first "
        f"token, not {own['long'].mean:.0f}."
    )
    held = below(mine["step"], own["step"], times=2) and below(own["long"], mine["long"])
    return Finding(sentence, held)


def _law(name: str, **parameters: Any) -> Any:
    return law(DecisionPoint.BATCHING, name, **parameters)


def _long(tested: Any, config: Any, seconds: float, seed: int) -> dict[str, float]:
    drawn = day.Day((LONG_RATE,), seconds).arrivals(seed)
    arrivals = [
        Arrival(one.at, LONG if place % EVERY == 0 else one.prompt_tokens, one.output_tokens)
        for place, one in enumerate(drawn)
    ]
    played = passing.through(tested, config, arrivals, seed)
    each = sorted(1e3 * one.tpot for one in played.served if one.tpot is not None)
    long = [one for one in played.served if one.prompt_tokens == LONG]
    return {
        "step": 1e3 * played.longest_step_s,
        "long": passing.latencies(long)["ttft"],
        "tpot99": each[int(0.99 * len(each))],
    }
