"""What the editor starts from: a whole plan over what the team has."""

from __future__ import annotations

import json
from typing import Any

from controlplane.catalogue.models import Policy, Workload
from controlplane.gateways.models import Gateway
from controlplane.rollouts.plan import API_VERSION, KIND
from controlplane.teams.models import Team

# Wide enough for 40 blocks to decide: a rare kind of bad request passes by ln(1/α)/δ clean blocks.
MARGINS = {"attainment": 0.1, "errors": 0.1}
REPLAY = {"arrivals": {"process": "poisson", "rate": 8}, "blocks": 40, "margins": MARGINS}
STAGES: list[dict[str, Any]] = [
    {"stage": "model", **REPLAY, "block_s": 15},
    {"stage": "load_test", **REPLAY, "block_s": 10},
    {"stage": "shadow", "bake_s": 120},
    {
        "stage": "canary",
        "weight": 0.5,
        "blocks": 60,
        "floor_s": 10,
        "criteria": [
            {"kind": "attainment", "pass_margin": 0.1},
            {"kind": "errors", "pass_margin": 0.1},
        ],
        "approvals": 1,
    },
    {"stage": "full", "bake_s": 60, "approvals": 1},
]


def example(team: Team) -> dict[str, Any]:
    """References name the first of each kind; a kind without any leaves a name to put right."""
    gateway = Gateway.objects.for_team(team).order_by("created_at").first()
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": "my-rollout", "owner": team.slug, "description": ""},
        "spec": {
            "gateway": gateway.slug if gateway else "my-gateway",
            "candidate": _candidate(team, gateway),
            "workload": _first(Workload.objects.for_team(team)) or "my-workload",
            "stages": json.loads(json.dumps(STAGES)),  # no part is shared: YAML would name it
        },
    }


def missing(team: Team) -> list[str]:
    """Kinds that a rollout needs and that the team has none of."""
    needed: dict[str, Any] = {"gateway": Gateway, "policy": Policy, "workload": Workload}
    return [name for name, kind in needed.items() if not kind.objects.for_team(team).exists()]


def _candidate(team: Team, gateway: Gateway | None) -> str:
    """The newest version of what serves, where that is another one; else another policy."""
    if gateway is None:
        return _first(Policy.objects.for_team(team)) or "my-policy"
    line = gateway.active_version.line
    if line.latest.pk != gateway.active_version_id:
        return f"{line.slug}@{line.latest.number}"
    others = Policy.objects.for_team(team).exclude(pk=line.pk)
    return _first(others) or line.slug


def _first(rows: Any) -> str:
    found: str | None = rows.order_by("created_at").values_list("slug", flat=True).first()
    return found or ""
