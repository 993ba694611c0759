"""What people decide about the stage that waits: approve, reject, accept a bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import NoReturn

from django.db import IntegrityError, transaction
from django.utils import timezone

from controlplane.rollouts import approving, machine
from controlplane.rollouts.history import note, record
from controlplane.rollouts.machine import Phase, Refused
from controlplane.rollouts.models import Approval, Rollout, StageRun
from controlplane.rollouts.moving import Word, locked, move
from controlplane.teams import services as teams
from controlplane.teams.rights import Actor, Denied, Right, require
from documents.problem import DocumentError, Problem
from measurement.comparison.confidence_sequence import LEAST_BLOCKS

A_PERSON_DECIDES = (
    "A token can never approve: a person does, signed in, with their password. Open the rollout's "
    "page to approve it."
)


def approve(
    *, actor: Actor, rollout: Rollout, binding: str, password: str, comment: str, address: str = ""
) -> Approval:
    """One person's word for the stage that waits, on exactly what ``binding`` names.

    Denied to tokens, to who made the change and to lesser roles; Refused where nothing waits or
    what waits has changed since the page was read; DocumentError for a wrong password.
    """
    _may_decide(actor, rollout, "approve")
    _is_themself(actor, password, address)
    with transaction.atomic():
        fresh, now = locked(rollout.pk), timezone.now()
        if fresh.phase != Phase.WAITING or not _asked(fresh):
            raise Refused("Nothing waits for an approval here.")
        if binding != approving.binding_of(fresh):
            raise Refused("The plan or a version has changed since you read it; read it again.")
        stage = fresh.document.name_of(fresh.stage)
        try:
            with transaction.atomic():
                given = Approval.objects.create(
                    rollout=fresh,
                    stage=fresh.stage,
                    attempt=fresh.attempt,
                    user=actor.user,
                    binding=binding,
                    comment=comment.strip(),
                    at=now,
                    expires_at=now + approving.EXPIRES_AFTER,
                )
        except IntegrityError:
            raise Refused("You have approved this stage already.") from None
        count = len(approving.holding(fresh, now))
        text = f"{stage} is approved, {count} of {_asked(fresh)}"
        said = f": “{given.comment}”" if given.comment else "."
        note(fresh, "approve", by=actor.name, text=f"{text}{said}", now=now, binding=binding)
    return given


def reject(*, actor: Actor, rollout: Rollout, comment: str) -> Rollout:
    """An approver's no: the rollout ends, and all that it did is taken back."""
    _may_decide(actor, rollout, "reject", mine=True)
    if not comment.strip():
        raise DocumentError([Problem("comment", comment, "say why: it is kept in the audit log")])
    with transaction.atomic():
        fresh = locked(rollout.pk)
        if fresh.phase not in (Phase.WAITING, Phase.HELD):
            raise Refused("Nothing waits for a decision here; abort it instead.")
        text = f"Rejected by {actor.name}: {comment.strip()}"
        move(fresh, machine.Abort(), Word("reject", text, actor.name))
    return fresh


def accept(
    *,
    actor: Actor,
    rollout: Rollout,
    criteria: Sequence[str],
    password: str,
    comment: str,
    address: str = "",
) -> StageRun:
    """A person passes criteria whose bad events are too rare for their blocks to tell.

    A held canary goes on from there; harm by any criterion still rolls it back.
    """
    _may_decide(actor, rollout, "accept")
    _is_themself(actor, password, address)
    with transaction.atomic():
        fresh, now = locked(rollout.pk), timezone.now()
        run = fresh.stage_runs.filter(
            index=fresh.stage, attempt=fresh.attempt, kind="canary"
        ).first()
        rare = rare_of(run) if run else {}
        if run is None or fresh.phase not in (Phase.HELD, Phase.RUNNING):
            raise Refused("There is no canary whose bounds could be accepted.")
        if unknown := [name for name in criteria if name not in rare] or not criteria:
            wanted = f"must be among those that are too rare to tell: {', '.join(rare) or 'none'}"
            raise DocumentError([Problem("criteria", unknown, wanted)])
        run.accepted = {**run.accepted, **dict.fromkeys(criteria, actor.name)}
        run.save(update_fields=["accepted"])
        bounds = ", ".join(f"{name} up to {100 * rare[name]:.3g} % of blocks" for name in criteria)
        said = f": “{comment.strip()}”" if comment.strip() else "."
        text = f"Accepted unseen {bounds}{said}"
        if fresh.phase == Phase.RUNNING:
            note(fresh, "accept", by=actor.name, text=text, now=now)
        else:
            move(fresh, machine.Reconsider(), Word("accept", text, actor.name), now)
    return run


def rare_of(run: StageRun) -> dict[str, float]:
    """Criteria that a person may pass, with what their blocks can't exclude: a share of blocks."""
    rows = run.evidence.get("verdict", {}).get("criteria", [])
    return {
        row["name"]: row["unseen"]
        for row in rows
        if row["rare"]
        and row["k"] >= LEAST_BLOCKS
        and row["outcome"] == "inconclusive"
        and row["unseen"] is not None
    }


def refuse_token(*, actor: Actor, rollout: Rollout) -> None:
    """Denied, and written down, where a program asks to approve."""
    if actor.token is not None:
        _deny(actor, rollout, "approve", A_PERSON_DECIDES)


def _asked(rollout: Rollout) -> int:
    return rollout.standing.needed[rollout.stage]


def _may_decide(actor: Actor, rollout: Rollout, verb: str, *, mine: bool = False) -> None:
    """Signed in, with the role that the stage asks for, and no part in the change (but to say no).

    Every denial is written down.
    """
    if actor.token is not None:
        _deny(actor, rollout, verb, A_PERSON_DECIDES.replace("approve", verb, 1))
    require(actor, Right.APPROVE, to=f"{verb}_rollout", kind="rollout", name=str(rollout))
    needed = approving.role_needed(rollout)
    if not approving.approves(actor.role, needed):
        _deny(actor, rollout, verb, f"This stage needs the role {needed}; yours is {actor.role}.")
    if not mine and (part := approving.excluded(rollout).get(actor.user.pk)):
        _deny(
            actor,
            rollout,
            verb,
            f"You {part}: somebody who had no part in the change has to {verb} it.",
        )


def _deny(actor: Actor, rollout: Rollout, verb: str, why: str) -> NoReturn:
    with transaction.atomic():
        record(rollout, verb, by=actor.name, detail={"why": why}, denied=True)
    raise Denied(why)


def _is_themself(actor: Actor, password: str, address: str) -> None:
    """The password again, with the brake that sign-in has."""
    account = actor.user.get_username()
    wait = teams.sign_in_wait(account=account, address=address)
    if wait > timedelta():
        minutes = math.ceil(wait.total_seconds() / 60)
        message = f"too many failed attempts; try again in {minutes} min"
        raise DocumentError([Problem("password", "…", message)])
    if not actor.user.check_password(password):
        teams.note_sign_in_failure(account=account, address=address)
        raise DocumentError([Problem("password", "…", "is not your password; nothing was done")])
    teams.forget_sign_in_failures(account=account, address=address)
