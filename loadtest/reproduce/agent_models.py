"""The agents source's three models: what control gains with each.

Its hardware is not told; these are the profiles of the same models that are shipped, taken down to
what the agents plant knows of an engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from loadtest.reproduce.plan import Plan, cell, law, measure
from loadtest.reproduce.series import Series, below
from loadtest.reproduce.table import Finding, Row
from schedulers.decision import DecisionPoint
from simulator.plants.agents import PREFILL_RATE, AgentsEngine, AgentsRun
from simulator.profile import load

MODELS: Mapping[str, tuple[str, float]] = {
    "Qwen3-32B": ("qwen3-32b-h100-tp2", 4.09),
    "Llama-3-70B": ("llama3-70b-h100-tp4", 3.6),
    "DeepSeek-V3": ("deepseek-v3-fp8-h200-tp8", 1.9),
}
"""Profile, and how many times no control's output the source claims."""
LAWS = ("none", "code", "ours")
CROWD, CONTEXT = 64, 8000
"""Sequences, and tokens that each has read, at which a step's seconds are taken."""


def engine(profile: str) -> AgentsEngine:
    """A profile as the plant knows an engine."""
    of = load(profile)
    full = of.token_budget
    alone = of.cost.seconds(1, CONTEXT, 1, 0.0)
    many = of.cost.seconds(CROWD, CROWD * CONTEXT, CROWD, 0.0)
    each = (many - alone) / (CROWD - 1)
    return AgentsEngine(
        kv_tokens=of.blocks * of.block_size,
        prefill_rate=full / of.cost.seconds(full, 0, 1, 0.0),
        base_s=alone - each,
        per_sequence_s=each,
    )


def _law(name: str, agents: int) -> Any:
    named = {
        "none": ("fixed", {"size": agents}),
        "code": ("concur_reference", {}),
        "ours": ("kv_reserve_agents", {}),
    }
    chosen, parameters = named[name]
    return law(DecisionPoint.CONCURRENCY, chosen, **parameters)


def _played(
    tested: Any, of: AgentsEngine, agents: int, end_s: float, seed: int
) -> dict[str, float]:
    """Output tokens a second, from cold to the last one's end, or until then."""
    run = AgentsRun(tested, seed, agents=agents, engine=of)
    run.go(end_s)
    return {"rate": run.total.said / run.now}


def play(plan: Plan, agents: int) -> tuple[list[Row], list[Finding]]:
    """As many agents before each of the models."""
    end_s = 500.0 if plan.reduced else 20_000.0
    models = dict(list(MODELS.items())[:1]) if plan.reduced else MODELS
    seen = {
        model: {
            name: measure(plan, partial(_played, _law(name, agents), engine(at), agents, end_s))
            for name in LAWS
        }
        for model, (at, _) in models.items()
    }
    gains = {
        model: {name: ways[name]["rate"].over(ways["none"]["rate"]) for name in ("code", "ours")}
        for model, ways in seen.items()
    }
    rows = [
        Row(
            case=f"{model}, {engine(models[model][0]).kv_tokens / 1e3:,.0f} thousand tokens",
            measure="over no control",
            unit="times",
            claimed=cell(models[model][1]),
            reference=cell(gain["code"]),
            corrected=cell(gain["ours"]),
        )
        for model, gain in gains.items()
    ]
    return rows, [_explained(gains)]


def _explained(gains: Mapping[str, Mapping[str, Series]]) -> Finding:
    rates = sorted(engine(MODELS[model][0]).prefill_rate for model in gains)
    said = ", ".join(f"{gain['ours'].mean:.1f} with {model}" for model, gain in gains.items())
    sentence = (
        f"By the models' own profiles the corrected law does {said} times what no control does: "
        "less than above, as contexts that were thrown out are computed again at "
        f"{rates[0]:,.0f} tokens a second and more, and not at the plant's {PREFILL_RATE:,.0f}. On "
        "what the source's models ran it doesn't tell."
    )
    held = all(
        below(Series(tuple(1.0 for _ in gain["ours"].values)), gain["ours"])
        and below(gain["code"], gain["ours"])
        for gain in gains.values()
    )
    return Finding(sentence, held and rates[0] > PREFILL_RATE)
