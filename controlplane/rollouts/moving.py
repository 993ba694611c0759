"""One step of a rollout with all that it sets off, in the caller's transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from controlplane.catalogue.services import aliases
from controlplane.gateways import services as gateways
from controlplane.rollouts import machine
from controlplane.rollouts.history import SYSTEM, note
from controlplane.rollouts.machine import Effect, Finding, Phase
from controlplane.rollouts.models import Rollout, StageRun
from controlplane.rollouts.stages.base import Found
from controlplane.rollouts.stages.runners import RUNNERS

ENDED = frozenset({Phase.DONE, Phase.ROLLED_BACK, Phase.ABORTED})
STABLE, CANARY = "stable", "canary"


@dataclass(frozen=True, slots=True)
class Word:
    """Who moves it and why, for the timeline and the audit log."""

    verb: str
    text: str
    by: str = SYSTEM


def locked(rollout_id: object) -> Rollout:
    """The row as it is now, held until the transaction ends."""
    return Rollout.objects.with_names().select_for_update(of=("self",)).get(pk=rollout_id)


def move(rollout: Rollout, event: machine.Event, word: Word, now: datetime | None = None) -> bool:
    """Take one step of a locked row; False where the event changes nothing."""
    now = now or timezone.now()
    done = machine.step(rollout.standing, event)
    if done.standing == rollout.standing:
        return False
    left = rollout.stage
    _store(rollout, done.standing, word.text, now)
    _carry_out(done.effect, rollout, left, word, now)
    note(rollout, word.verb, by=word.by, text=word.text, now=now)
    return True


def run_of(rollout: Rollout) -> StageRun | None:
    """The run of the stage and attempt at which it stands."""
    runs = rollout.stage_runs.select_related("comparison")
    return runs.filter(index=rollout.stage, attempt=rollout.attempt).first()


def keep(run: StageRun, found: Found, now: datetime) -> None:
    """Store what a look has said."""
    run.seen, run.finding, run.because = found.seen, found.finding.value, found.because
    run.evidence, run.looked_at = dict(found.evidence), now
    run.save(update_fields=["seen", "finding", "because", "evidence", "looked_at"])


def _store(rollout: Rollout, standing: machine.Standing, because: str, now: datetime) -> None:
    rollout.phase, rollout.stage = standing.phase.value, standing.stage
    rollout.attempt, rollout.kept = standing.attempt, standing.kept
    rollout.because, rollout.phase_since = because, now
    if rollout.started_at is None and standing.phase in machine.LIVE:
        rollout.started_at = now
    if standing.phase in ENDED:
        rollout.ended_at = now
    rollout.save()


def _carry_out(effect: Effect, rollout: Rollout, left: int, word: Word, now: datetime) -> None:
    if effect is Effect.ENTER:
        _enter(rollout, now)
    elif effect is Effect.LEAVE:
        _end(rollout, left, now, leave=True)
    elif effect is Effect.FINISH:
        _end(rollout, left, now, leave=True)
        _alias(rollout, STABLE, "its rollout is done")
    elif effect is Effect.STOP:
        stop(rollout, word, now)


def _enter(rollout: Rollout, now: datetime) -> None:
    stage = rollout.document.stages[rollout.stage]
    run = StageRun.objects.create(
        rollout=rollout,
        index=rollout.stage,
        attempt=rollout.attempt,
        kind=stage.kind,
        entered_at=now,
    )
    RUNNERS[stage.kind].enter(rollout, run, now)
    if stage.kind == "canary":
        _alias(rollout, CANARY, "its canary began")


def _end(rollout: Rollout, index: int, now: datetime, *, leave: bool) -> None:
    for run in rollout.stage_runs.filter(index=index, ended_at=None):
        run.ended_at = now
        run.save(update_fields=["ended_at"])
        if leave:
            RUNNERS[run.kind].leave(rollout, run, now)


def stop(rollout: Rollout, word: Word, now: datetime) -> None:
    """Take back all that the rollout did: shadow, canary, active version, comparisons."""
    touched = full = False
    for run in rollout.stage_runs.select_related("comparison"):
        touched = touched or run.kind in ("shadow", "canary", "full")
        full = full or run.kind == "full"
        if run.ended_at is None:
            RUNNERS[run.kind].stop(rollout, run, word.text)
            run.ended_at = now
            run.save(update_fields=["ended_at"])
    if touched:
        gateways.roll_back(gateway=rollout.gateway, by=word.by, reason=word.text)
    if full and rollout.gateway.active_version_id == rollout.candidate_version_id:
        gateways.set_active(
            gateway=rollout.gateway,
            version=rollout.baseline_version,
            by=word.by,
            reason=word.text,
        )


def _alias(rollout: Rollout, name: str, why: str) -> None:
    version = rollout.candidate_version
    aliases.move_by_system(
        team_id=rollout.team_id,
        by=SYSTEM,
        line=version.line,
        name=name,
        to=version,
        reason=f"{rollout}: {why}",
    )


def finding_word(found: Found, name: str) -> Word:
    """How the timeline tells a look that moves the rollout."""
    verbs = {Finding.PASS: "pass", Finding.HARM: "roll_back"}
    return Word(verbs.get(found.finding, "hold"), f"{name}: {found.because}")
