"""The tick: what time and evidence do to live rollouts. Safe to run twice, or late, or not at all.

Evidence is looked at outside the transaction; the step is taken under the row's lock, and only if
the rollout still stands where it was looked at.
"""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import OperationalError, transaction
from django.utils import timezone

from controlplane.gateways import budgets
from controlplane.gateways.changing import Moved
from controlplane.gateways.models import GatewayBudget
from controlplane.rollouts import approving, machine
from controlplane.rollouts.machine import Finding, Phase
from controlplane.rollouts.models import FreezeWindow, Rollout, StageRun
from controlplane.rollouts.moving import Word, finding_word, keep, locked, move, run_of
from controlplane.rollouts.stages.base import Found
from controlplane.rollouts.stages.guarding import guard
from controlplane.rollouts.stages.runners import RUNNERS
from controlplane.rollouts.stages.silence import AWAY
from documents.problem import DocumentError, Problem

log = logging.getLogger(__name__)

ACTING = ("canary", "full")
"""Stages in which the candidate serves."""


def tick(now: datetime | None = None) -> int:
    """One pass over every team's live rollouts; how many moved."""
    moved = 0
    for rollout_id in list(Rollout.objects.live().values_list("pk", flat=True)):
        try:
            moved += advance(rollout_id, now or timezone.now())
        except Moved:  # somebody changed the gateway this moment; the next pass sees what is
            log.info("rollout %s: its gateway has just moved", rollout_id)
        except OperationalError:
            raise  # the database is away for all of them
        except Exception:
            log.exception("rollout %s could not be taken on; the others are", rollout_id)
    return moved


def advance(rollout_id: object, now: datetime) -> bool:
    """At most one step: after an outage, whatever is overdue folds into it."""
    rollout = Rollout.objects.with_names().get(pk=rollout_id)
    if not rollout.is_live:
        return False
    if harmed := _guarded(rollout, now):
        return harmed
    if rollout.phase == Phase.RUNNING:
        return _look(rollout, now)
    if rollout.phase == Phase.WAITING:
        return _begin(rollout, now)
    return False


def _look(rollout: Rollout, now: datetime) -> bool:
    run = run_of(rollout)
    if run is None:
        return False
    _wake(run, now)
    found = _changed(rollout) or RUNNERS[run.kind].look(rollout, run, now)
    if found is None or not _news(run, found):
        StageRun.objects.filter(pk=run.pk).update(looked_at=now)
        return False
    return _take(run, found, now)


def _take(run: StageRun, found: Found, now: datetime) -> bool:
    """The same look taken twice is taken once: under the lock it finds itself stored."""
    with transaction.atomic():
        rollout = locked(run.rollout_id)
        run = StageRun.objects.select_for_update().get(pk=run.pk)
        if rollout.phase not in machine.LIVE or not _news(run, found):
            return False
        keep(run, found, now)
        name = rollout.document.name_of(run.index)
        look = machine.Look(run.index, run.attempt, found.finding)
        return move(rollout, look, finding_word(found, name), now)


def _news(run: StageRun, found: Found) -> bool:
    """Whether a look says anything that the last one did not."""
    if found.finding.value != run.finding:
        return True
    return found.seen > run.seen or found.because != run.because


def _guarded(rollout: Rollout, now: datetime) -> bool:
    """Harm of what serves its share, or all, while no runner looks at it."""
    acting = rollout.stage_runs.filter(kind__in=ACTING)
    run = acting.order_by("index", "attempt").last()
    if run is None or (rollout.phase == Phase.RUNNING and run.index == rollout.stage):
        return False
    found = guard(rollout, run, now)
    return bool(found and _take(run, found, now))


def _begin(rollout: Rollout, now: datetime) -> bool:
    """The next stage, if its approvals hold at this very moment and nothing stops it."""
    if not _may_begin(rollout, now):
        return False
    name = rollout.document.name_of(rollout.stage)
    try:
        with transaction.atomic():
            rollout = locked(rollout.pk)
            if not _may_begin(rollout, now):
                return False
            _check_gateway(rollout)
            tick_of = _tick_of(rollout, now)
            return move(rollout, tick_of, Word("enter", f"{name} has begun."), now)
    except DocumentError as error:
        with transaction.atomic():
            why = f"{name} could not begin: {'; '.join(str(one) for one in error.problems)}"
            return move(locked(rollout.pk), machine.Stuck(), Word("hold", why), now)


def _check_gateway(rollout: Rollout) -> None:
    if out := out_of_step(rollout):
        raise DocumentError([Problem("gateway", rollout.gateway.slug, out)])


def _may_begin(rollout: Rollout, now: datetime) -> bool:
    return machine.step(rollout.standing, _tick_of(rollout, now)).standing != rollout.standing


def _tick_of(rollout: Rollout, now: datetime) -> machine.Tick:
    stopped = bool(freeze(rollout, now) or spent(rollout))
    return machine.Tick(len(approving.holding(rollout, now)), frozen=stopped)


def freeze(rollout: Rollout, now: datetime) -> FreezeWindow | None:
    """The freeze window that stops its promotions now."""
    if not rollout.plan["spec"]["respect_freezes"]:
        return None
    return FreezeWindow.objects.for_team(rollout.team).open_at(now).first()


def spent(rollout: Rollout) -> GatewayBudget | None:
    """The error budget that leaves no room for a stage that acts on traffic, as the next would."""
    acts = rollout.document.stages[rollout.stage].kind in ACTING
    if not acts or not rollout.plan["spec"]["respect_freezes"]:
        return None
    return budgets.spent(rollout.gateway)


def out_of_step(rollout: Rollout) -> str:
    """Why what was proposed is not what would be applied; empty if it still is."""
    gateway = rollout.gateway
    full = rollout.stage_runs.filter(kind="full").exists()
    wanted = rollout.candidate_version if full else rollout.baseline_version
    if gateway.active_version_id != wanted.pk:
        return (
            "serves another version than the one that this rollout compares with; somebody "
            "changed it meanwhile, so put it back, or propose the rollout anew"
        )
    if gateway.slo_version_id != rollout.slo_version_id:
        return "is judged by another SLO than when this was proposed; propose the rollout anew"
    return ""


def _changed(rollout: Rollout) -> Found | None:
    """Someone else changed the gateway under a running stage: no evidence any more."""
    out = out_of_step(rollout)
    return Found(Finding.INVALID, f"Invalid because the gateway {out}.", 0) if out else None


def _wake(run: StageRun, now: datetime) -> None:
    """After a time in which nobody looked, silence counts from now."""
    if run.looked_at is not None and now - run.looked_at > AWAY:
        run.awake_since = now
        run.save(update_fields=["awake_since"])
