"""What the editor starts from: a whole gate over what the team has."""

from __future__ import annotations

from typing import Any

from django.db.models import Model

from controlplane.catalogue.models import Endpoint, Policy, Slo, Workload
from controlplane.gates.documents import API_VERSION, KIND
from controlplane.teams.models import Team


def example(team: Team) -> dict[str, Any]:
    """References name the first of each kind; a kind without any leaves a name to put right."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": "my-gate", "owner": team.slug, "description": ""},
        "spec": {
            "endpoint": _first(Endpoint, team, "my-endpoint"),
            "policy": _first(Policy, team, "my-policy"),
            "workload": _first(Workload, team, "my-workload"),
            "slo": _first(Slo, team, "my-slo"),
            "arrivals": {"process": "poisson", "rate": 10},
            "duration_s": 90,
            "warm_up_s": 10,
            "thresholds": ["ttft_ms: p(95)<800", "attainment>=0.95", "errors<=0.01"],
            "overrides": ["policy"],
        },
    }


def missing(team: Team) -> list[str]:
    """Kinds that a gate needs and that the team has none of."""
    needed = {"endpoint": Endpoint, "policy": Policy, "workload": Workload}
    return [name for name, model in needed.items() if not _of(model, team).exists()]


def _first(model: type[Model], team: Team, otherwise: str) -> str:
    return _of(model, team).order_by("created_at").values_list("slug", flat=True).first() or (
        otherwise
    )


def _of(model: type[Model], team: Team) -> Any:
    return model._default_manager.filter(team=team)  # noqa: SLF001
