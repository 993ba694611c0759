"""Who may approve, what an approval is bound to, and how many hold at this moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from controlplane.rollouts.models import Approval, Rollout
from controlplane.teams.models import Membership, Role, User
from documents.canonical import sha256

EXPIRES_AFTER = timedelta(hours=24)
RANK = list(Role.values)


def binding_of(rollout: Rollout) -> str:
    """SHA-256 of everything that would be applied: the plan's own hash made anew, and versions."""
    return sha256(
        {
            "plan": rollout.document.sha256,
            "seed": rollout.seed,
            "gateway": str(rollout.gateway_id),
            "baseline": rollout.baseline_version.sha256,
            "candidate": rollout.candidate_version.sha256,
            "slo": rollout.slo_version.sha256,
            "workload": rollout.workload.sha256 if rollout.workload else "",
        }
    )


def excluded(rollout: Rollout) -> dict[object, str]:
    """Who made this change, by user id, and how."""
    return {
        rollout.candidate_version.created_by_id: "wrote the candidate version",
        rollout.edited_by_id: "edited this rollout last",
        rollout.created_by_id: "proposed this rollout",
    }


def role_needed(rollout: Rollout) -> Role:
    """The least role that approves the stage which waits."""
    return Role(rollout.plan["spec"]["stages"][rollout.stage]["role"])


def approves(role: str, needed: Role) -> bool:
    """Whether a member of that role may approve where ``needed`` is asked for."""
    return RANK.index(role) >= RANK.index(needed)


def holding(rollout: Rollout, now: datetime) -> list[Approval]:
    """The approvals of the stage that hold now: bound to what stands, not expired, of members who
    still have the role and had no part in the change."""
    if not rollout.plan["spec"]["stages"][rollout.stage]["approvals"]:
        return []
    found = Approval.objects.holding(rollout, binding_of(rollout), now).select_related("user")
    needed, made_it = role_needed(rollout), excluded(rollout)
    roles = dict(
        Membership.objects.filter(team=rollout.team_id, user__is_active=True).values_list(
            "user_id", "role"
        )
    )
    return [
        one
        for one in found
        if one.user_id not in made_it
        and one.user_id in roles
        and approves(roles[one.user_id], needed)
    ]


def candidates(rollout: Rollout) -> Sequence[User]:
    """Everybody who could approve the stage that waits."""
    needed = role_needed(rollout)
    members = Membership.objects.filter(team=rollout.team_id, user__is_active=True)
    made_it = excluded(rollout)
    return [
        member.user
        for member in members.select_related("user")
        if member.user_id not in made_it and approves(member.role, needed)
    ]
