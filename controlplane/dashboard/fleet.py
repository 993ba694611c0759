"""Every gateway in one row, the worst first: what somebody on call looks at before all else."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from controlplane.gateways import budget_page, reading, states, waiting
from controlplane.gateways.models import Gateway
from controlplane.gateways.recent import recent
from controlplane.rollouts import presenting
from controlplane.rollouts.models import Rollout
from controlplane.runs import phrases
from controlplane.teams.models import Team

TROUBLE = ("fail", "warn", "inconclusive", "pass", "none")
"""Shapes of a state or a budget, the worst first."""
URGENT = TROUBLE[:2]
"""Those that the bar on top speaks of before any run."""


def rows(team: Team, now: datetime) -> list[dict[str, Any]]:
    """The worst first: alerts, then trouble of the gateway itself, then what has least left."""
    gateways = Gateway.objects.for_team(team).select_related(
        "active_version__line", "slo_version__line", "canary_version__line", "shadow_version__line"
    )
    live = Rollout.objects.filter(team=team).live().with_names()
    moving = {rollout.gateway_id: rollout for rollout in live}
    found = [_row(gateway, moving.get(gateway.pk), now) for gateway in gateways]
    return sorted(found, key=_badness)


def trouble(found: list[dict[str, Any]]) -> dict[str, Any] | None:
    """What the bar on top says of live traffic: the worst gateway's own trouble or its budget's.

    ``found`` is as from ``rows``; None while no gateway is in trouble, so that a run may speak.
    """
    if not found:
        return None
    state, budget = found[0]["state"], found[0]["budget"]
    of_itself = {"outcome": state.outcome, "word": state.word, "because": state.because}
    spends = {"outcome": budget["tone"]} | budget if budget else of_itself
    worst = min(of_itself, spends, key=lambda one: TROUBLE.index(one["outcome"]))
    if worst["outcome"] not in URGENT:
        return None
    others = sum(_badness(row)[0] < len(URGENT) for row in found[1:])
    return {"gateway": found[0]["gateway"], "others": others} | {
        name: worst[name] for name in ("outcome", "word", "because")
    }


def _row(gateway: Gateway, rollout: Rollout | None, now: datetime) -> dict[str, Any]:
    processes = reading.processes(gateway)
    last = recent(gateway, processes, now, minutes=1)
    budgets = budget_page.rows(gateway, waiting.doubt(gateway, processes, now))
    joint = next((one for one in budgets if one["scope"] == "joint"), None)
    worst = budget_page.worst(budgets)
    return {
        "gateway": gateway,
        "state": states.state(states.facts(gateway, processes, last, now)),
        "rate": last.rate if last.windows else None,
        "budget": worst,
        "attainment": _attainment(joint),
        "burn": worst["saying"] if worst else None,
        "rollout": rollout,
        "tone": None if rollout is None else presenting.tone_of(rollout),
        "stage": None if rollout is None else rollout.document.name_of(rollout.stage),
    }


def _attainment(joint: dict[str, Any] | None) -> dict[str, str]:
    """Over the shortest window of an alert that has one, with its n."""
    if joint is None or not joint["burns"]:
        return {"text": phrases.NOTHING, "n": "", "span": ""}
    alert = joint["burns"][0]
    n, missed = alert["short_n"], alert["short_missed"]
    return {
        "text": f"{phrases.share(1 - missed / n)} %" if n else phrases.NOTHING,
        "n": phrases.number(n),
        "span": alert["short_seen"] or alert["short"],
    }


def _badness(row: dict[str, Any]) -> tuple[int, int, float, str]:
    budget = row["budget"]
    own = TROUBLE.index(row["state"].outcome)
    spends = TROUBLE.index(budget["tone"]) if budget else len(TROUBLE)
    left = budget["left"] if budget and budget["left"] is not None else 1.0
    return min(own, spends), own + spends, left, row["gateway"].name
