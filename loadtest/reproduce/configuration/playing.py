"""A converted configuration on the engine model: as it stands, and as Headway recommends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from loadtest.reproduce.configuration.conversion import Converted
from loadtest.reproduce.configuration.sections import Configuration
from loadtest.reproduce.load_sweep import knee
from loadtest.reproduce.plan import Plan, cell, measure
from loadtest.reproduce.series import Series, below
from loadtest.reproduce.table import Finding, Reproduction, Row
from loadtest.scenario import Scenario
from loadtest.simulate import Options, simulate
from schedulers.document import Policy
from simulator.plants.engine import Chat
from simulator.profile import Profile

REDUCED_S = 60.0
LAWS = (
    "claimed: what the file asks for; reference: the file as it stands; corrected: `kv_reserve`, "
    "`slack_density` and `tpot_budget` with their defaults and the engine's own limits"
)
WAYS = ("own", "ours")
"""As the file stands, and as Headway recommends."""


def play(given: Configuration, converted: Converted, profile: Profile, plan: Plan) -> Reproduction:
    """Both ways with each seed. DocumentError where the engine can't be told what is asked."""
    scenario = converted.scenario
    if plan.reduced:
        scenario = replace(scenario, duration_s=min(REDUCED_S, scenario.duration_s))
    ours = replace(scenario, policy=_recommended(given)), _left(converted.engine)
    ways = dict(zip(WAYS, ((scenario, converted.engine), ours), strict=True))
    seen = {
        name: measure(plan, partial(_played, asked, profile, engine))
        for name, (asked, engine) in ways.items()
    }
    most = _most(given, converted, profile)
    return Reproduction(tuple(_rows(given, seen, most)), tuple(_explained(given, seen, most)))


def _recommended(given: Configuration) -> Policy:
    tpot = given.slo.tpot_ms
    spec = {
        "admission": {"law": "kv_reserve"},
        "ordering": {"law": "slack_density"},
        "batching": {"law": "tpot_budget"} | ({} if tpot is None else {"tpot_ms": tpot}),
    }
    head = {"apiVersion": "headway/v1", "kind": "Policy", "metadata": {"name": "recommended"}}
    return Policy.parse({**head, "spec": spec})


def _left(engine: Mapping[str, Any]) -> dict[str, Any]:
    """What of the engine's configuration is no limit of a step: the profile has its own."""
    return {name: it for name, it in engine.items() if name not in ("max_seqs", "token_budget")}


def _played(
    scenario: Scenario, profile: Profile, engine: Mapping[str, Any], seed: int
) -> dict[str, float]:
    options = Options(overrides=dict(engine), cost_clock=lambda: 0.0)
    conclusion = simulate(replace(scenario, seed=seed), profile, options=options)
    part = conclusion.summary.steady.to_json()
    latencies = {
        f"{name} p95": _or_never(part.get(f"{name}_ms", {}).get("p95"))
        for name in ("ttft", "tpot", "e2e")
    }
    return {
        **latencies,
        "met": 100.0 * (part["attainment"] or 0.0),
        "answered": part["served_rate"] or 0.0,
        "shed": 100.0 * (conclusion.summary.steady.rejection_rate or 0.0),
    }


def _or_never(value: float | None) -> float:
    return math.inf if value is None else value


def _most(given: Configuration, converted: Converted, profile: Profile) -> float:
    """Answers a second with every place taken."""
    load = converted.scenario.workload
    chat = Chat(
        prompt=load.prompt_tokens_mean,  # type: ignore[attr-defined] # a conversion's lengths are
        output=load.output_tokens_mean,  # type: ignore[attr-defined] # always synthetic
    )
    cap = given.scheduler.batch_size_cap
    config = profile.config(**converted.engine)
    places = config.max_seqs if cap is None else min(config.max_seqs, cap)
    return knee(replace(config, max_seqs=places), chat)


def _rows(given: Configuration, seen: Mapping[str, Mapping[str, Series]], most: float) -> list[Row]:
    slo = given.slo
    asked = {
        "met": None if slo.attainment is None else 100.0 * slo.attainment,
        "ttft p95": slo.ttft_ms,
        "tpot p95": slo.tpot_ms,
        "e2e p95": slo.p95_ms,
        "answered": given.loadgen.qps,
    }
    names = (
        ("met", "all objectives met, of arrivals", "%"),
        ("ttft p95", "TTFT P95, of answers", "ms"),
        ("tpot p95", "TPOT P95, of answers", "ms"),
        ("e2e p95", "end to end P95, of answers", "ms"),
        ("answered", "answers", "a second"),
        ("shed", "sent away", "%"),
    )
    own, ours = seen["own"], seen["ours"]
    return [
        Row(
            case=f"{given.loadgen.qps:g} requests/s",
            measure=measured,
            unit=unit,
            claimed=cell(asked.get(key)),
            reference=cell(own[key]),
            corrected=cell(ours[key]),
            optimum=cell(most, "its places full") if key == "answered" else None,
        )
        for key, measured, unit in names
    ]


def _explained(
    given: Configuration, seen: Mapping[str, Mapping[str, Series]], most: float
) -> list[Finding]:
    rate, answered = given.loadgen.qps, seen["own"]["answered"]
    found = []
    if rate > most:
        found.append(
            Finding(
                f"This engine answers {most:.1f} requests a second with the places that the "
                f"configuration gives it, and {answered.mean:.1f} were measured: {rate:g} a second "
                f"is {rate / most:.1f} times that.",
                below(answered, 1.15 * most),
            )
        )
    bound = given.slo.p95_ms
    if bound is not None:
        least = min(seen[name]["e2e p95"].mean for name in seen)
        kept = "kept" if least <= bound else "not kept either way"
        found.append(
            Finding(
                f"The end-to-end bound of {bound:g} ms at P95 is {kept}: {least:,.0f} ms at best.",
                True,  # noqa: FBT003 - it says what was measured
            )
        )
    return found
