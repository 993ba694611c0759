"""A configuration as Headway's documents: policy, SLO, and the load as a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loadtest.builtin import WORKLOADS
from loadtest.reproduce.configuration.contradictions import ADMISSION_LAW, mean_tokens
from loadtest.reproduce.configuration.sections import Configuration
from loadtest.scenario import Scenario
from measurement.slo import Slo
from schedulers.document import Policy

NAME = "converted"
NOWHERE = "http://model.invalid"
"""Stands where a scenario names its endpoint; put your own there to run it."""
_ORDERS: Mapping[str, Mapping[str, Any]] = {
    "slack_aware": {"law": "slack_density", "kappa": 0.0, "drop_hopeless": False},
    **{name: {"law": name} for name in ("fcfs", "edf", "sjf", "priority")},
}
_LONGEST_PROMPT, _LONGEST_ANSWER = 16_000, 8_192


@dataclass(frozen=True, slots=True)
class Converted:
    """``engine``: what is the engine's own to be told, by the names of ``headway engine``."""

    policy: Policy | None
    slo: Slo | None
    scenario: Scenario
    engine: Mapping[str, Any]

    def documents(self) -> list[dict[str, Any]]:
        """The policy's and the SLO's documents, and the load as a scenario without them."""
        load = {
            name: value
            for name, value in self.scenario.to_document().items()
            if name in ("workload", "arrivals", "duration_s", "seed")
        }
        parts = (self.policy, self.slo)
        return [*(part.to_document() for part in parts if part is not None), load]


def convert(given: Configuration) -> Converted:
    """Every field that means something, as it stands; contradictions are carried over."""
    spec = _spec(given)
    metadata = {"name": NAME, "description": "Converted from a queueing configuration."}
    policy = {"apiVersion": "headway/v1", "kind": "Policy", "metadata": metadata, "spec": spec}
    objectives = _objectives(given)
    target = {"target": given.slo.attainment or 0.99, "objectives": objectives}
    slo = {"apiVersion": "headway/v1", "kind": "SLO", "metadata": {"name": NAME}, "spec": target}
    scheduler, load = given.scheduler, given.loadgen
    pace = {"rate": load.qps}
    scenario = {
        "endpoint": {"base_url": NOWHERE, "model": "simulated", "kind": "simulated"},
        "policy": policy if spec else None,
        "slo": slo if objectives else None,
        "workload": _workload(given),
        "arrivals": {"process": load.process, **pace},
        "duration_s": load.duration_s,
        "seed": load.seed,
    }
    parsed = Scenario.parse(scenario)
    engine = {
        "max_seqs": scheduler.max_num_seqs,
        "token_budget": scheduler.max_num_batched_tokens,
        "chunked_prefill": scheduler.chunked_prefill,
        "swap": True if scheduler.preemption in ("swap", "auto") else None,
    }
    told = {name: value for name, value in engine.items() if value is not None}
    return Converted(parsed.policy, parsed.slo, parsed, told)


def _spec(given: Configuration) -> dict[str, Any]:
    scheduler, admission = given.scheduler, given.admission
    spec: dict[str, Any] = {}
    if admission.kv_reserve_ratio is not None or admission.oversubscribe is not None:
        spec["admission"] = {
            "law": ADMISSION_LAW,
            **_said("kv_usable", admission.kv_reserve_ratio),
            **_said("oversubscribe", admission.oversubscribe),
            **_said("attainment", given.slo.attainment),
            "output_tokens": round(_mean_output(given), 1),
        }
    if scheduler.policy is not None:
        spec["ordering"] = dict(_ORDERS[scheduler.policy])
    seats = scheduler.batch_size_cap or scheduler.max_num_seqs
    if seats is not None or scheduler.max_num_batched_tokens is not None:
        tokens = scheduler.max_num_batched_tokens
        spec["batching"] = {
            "law": "continuous",
            **_said("max_sequences", seats),
            **_said("token_budget", None if tokens is None else max(256, tokens)),
        }
    if scheduler.preemption is not None or scheduler.immunity is not None:
        spec["preemption"] = {
            "law": "most_slack",
            **_said("mode", scheduler.preemption),
            **_said("immunity", scheduler.immunity),
            **_said("tpot_ms", given.slo.tpot_ms),
        }
    return spec


def _objectives(given: Configuration) -> list[dict[str, Any]]:
    slo = given.slo
    found: list[dict[str, Any]] = []
    if slo.ttft_ms is not None:
        found.append({"metric": "ttft_ms", "max": slo.ttft_ms})
    if slo.tpot_ms is not None:
        found.append({"metric": "tpot_ms", "max": slo.tpot_ms})
    if slo.p95_ms is not None:
        found.append({"metric": "e2e_ms", "max": slo.p95_ms, "target": 0.95})
    return found


def _workload(given: Configuration) -> dict[str, Any]:
    load = given.loadgen
    found = dict(WORKLOADS["chat"])
    found |= _lengths("output", load.output_mu, load.output_sigma, _LONGEST_ANSWER)
    if load.prompt_mu is not None:
        found |= _lengths("prompt", load.prompt_mu, load.prompt_sigma or 0.0, _LONGEST_PROMPT)
    return found


def _lengths(what: str, mu: float, sigma: float, most: int) -> dict[str, Any]:
    mean = min(float(most), max(1.0, mean_tokens(mu, sigma)))
    names = {"mean": round(mean, 1), "sigma": sigma, "min": 1, "max": most}
    return {f"{what}_tokens_{name}": value for name, value in names.items()}


def _mean_output(given: Configuration) -> float:
    return mean_tokens(given.loadgen.output_mu, given.loadgen.output_sigma)


def _said(name: str, value: object) -> dict[str, Any]:
    return {} if value is None else {name: value}
