"""What people and tokens can do to rollouts. Time and evidence do the rest, in ``advancing``."""

from __future__ import annotations

import secrets

from django.db import IntegrityError, transaction
from django.utils import timezone

from controlplane.rollouts import machine, proposing
from controlplane.rollouts.history import note
from controlplane.rollouts.machine import Refused
from controlplane.rollouts.models import Rollout
from controlplane.rollouts.moving import Word, locked, move
from controlplane.rollouts.plan import RolloutPlan
from controlplane.teams.rights import Actor, Right, require

SEEDS = 2**31


def propose(*, actor: Actor, document: object, retry_of: Rollout | None = None) -> Rollout:
    """A draft; DocumentError with every fault, one being that the stages could show nothing."""
    verb = "retry_rollout" if retry_of else "propose_rollout"
    require(actor, Right.RUNS_WRITE, to=verb, kind="rollout")
    plan = RolloutPlan.parse(document)
    parts = proposing.parts_of(actor.team, plan)
    plan = parts.plan
    seed = plan.seed if plan.seed is not None else secrets.randbelow(SEEDS)
    with transaction.atomic():
        rollout = Rollout.objects.create(
            team=actor.team,
            gateway=parts.gateway,
            baseline_version=parts.baseline,
            candidate_version=parts.candidate,
            slo_version=parts.slo,
            workload=parts.workload,
            plan=plan.to_document(),
            plan_sha256=plan.sha256,
            seed=seed,
            retry_of=retry_of,
            number=retry_of.number + 1 if retry_of else 1,
            created_by=actor.user,
            edited_by=actor.user,
        )
        again = f", attempt {rollout.number}" if retry_of else ""
        text = f"{rollout.title} on {parts.gateway.name} is proposed{again}."
        note(rollout, "propose", by=actor.name, text=text, now=timezone.now())
    return rollout


def edit(*, actor: Actor, rollout: Rollout, document: object) -> Rollout:
    """Another plan for a draft, or for what is still to come of one that waits or is held.

    Every approval is voided: it was of another plan.
    """
    require(actor, Right.RUNS_WRITE, to="edit_rollout", kind="rollout", name=str(rollout))
    plan = RolloutPlan.parse(document)
    parts = proposing.parts_of(actor.team, plan)
    plan = parts.plan
    with transaction.atomic():
        rollout, now = locked(rollout.pk), timezone.now()
        if plan.sha256 == rollout.plan_sha256:
            return rollout
        proposing.check_edit(rollout, plan, parts)
        voided = rollout.approvals.filter(voided_at=None).update(voided_at=now)
        rollout.plan, rollout.plan_sha256 = plan.to_document(), plan.sha256
        rollout.gateway, rollout.workload = parts.gateway, parts.workload
        rollout.baseline_version, rollout.candidate_version = parts.baseline, parts.candidate
        rollout.slo_version = parts.slo
        rollout.edited_by, rollout.edited_at = actor.user, now
        rollout.save()
        lost = f"; {voided} approvals are void" if voided > 1 else ""
        lost = "; one approval is void" if voided == 1 else lost
        text = f"The plan is now {plan.sha256[:12]}{lost}."
        note(rollout, "edit", by=actor.name, text=text, now=now, voided=voided)
    return rollout


def start(*, actor: Actor, rollout: Rollout) -> Rollout:
    """Let a draft begin. Refused while another rollout has its gateway."""
    require(actor, Right.RUNS_WRITE, to="start_rollout", kind="rollout", name=str(rollout))
    other = active_on(rollout)
    if other is not None:
        raise Refused(
            f"{other.title} ({other.short_id}) is under way on {rollout.gateway.name}: one rollout "
            "at a time, or neither would be told from the other. Abort it or wait."
        )
    proposing.check_start(rollout)
    try:
        return _told(rollout, machine.Start(), Word("start", "Started.", actor.name))
    except IntegrityError:
        raise Refused("Another rollout of this gateway was started this moment.") from None


def hold(*, actor: Actor, rollout: Rollout, reason: str = "") -> Rollout:
    """Stop promotions; evidence goes on being gathered, and harm still rolls back."""
    require(actor, Right.RUNS_WRITE, to="hold_rollout", kind="rollout", name=str(rollout))
    text = reason.strip() or f"Held by {actor.name}."
    return _told(rollout, machine.Hold(), Word("hold", text, actor.name))


def resume(*, actor: Actor, rollout: Rollout, reason: str = "") -> Rollout:
    """Let a held rollout go on. A stage whose evidence was no good gathers it anew, and asks for
    its approvals again."""
    require(actor, Right.RUNS_WRITE, to="resume_rollout", kind="rollout", name=str(rollout))
    text = reason.strip() or f"Resumed by {actor.name}."
    return _told(rollout, machine.Resume(), Word("resume", text, actor.name))


def abort(*, actor: Actor, rollout: Rollout, reason: str = "") -> Rollout:
    """End it in whatever state it is, and take back all that it did. Needs no approval."""
    require(actor, Right.RUNS_WRITE, to="abort_rollout", kind="rollout", name=str(rollout))
    text = f"Aborted by {actor.name}{f': {reason.strip()}' if reason.strip() else '.'}"
    return _told(rollout, machine.Abort(), Word("abort", text, actor.name))


def retry(*, actor: Actor, rollout: Rollout) -> Rollout:
    """The same plan as a new draft, linked to the one that has ended."""
    if rollout.is_open:
        raise Refused("It has not ended; abort it first.")
    return propose(actor=actor, document=rollout.plan, retry_of=rollout)


def active_on(rollout: Rollout) -> Rollout | None:
    """Another rollout that is under way on the same gateway."""
    live = Rollout.objects.live().with_names().filter(gateway=rollout.gateway)
    return live.exclude(pk=rollout.pk).first()


def conflicts(rollout: Rollout) -> list[Rollout]:
    """Every other open rollout of the gateway; drafts, too."""
    open_phases = [phase.value for phase in machine.OPEN]
    others = Rollout.objects.filter(gateway=rollout.gateway, phase__in=open_phases)
    return list(others.exclude(pk=rollout.pk).with_names())


def _told(rollout: Rollout, event: machine.Event, word: Word) -> Rollout:
    """A person's step, under the row's lock; Refused where the state has no place for it."""
    with transaction.atomic():
        fresh = locked(rollout.pk)
        move(fresh, event, word)
    return fresh
