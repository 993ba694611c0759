"""What people do with change points: say that they were seen, and why they are there."""

from __future__ import annotations

from django.db import transaction

from controlplane.audit import services as audit
from controlplane.history.models import Acknowledgement
from controlplane.history.series import METRICS
from controlplane.runs.models import Run
from controlplane.teams.rights import Actor, Right, require
from documents.characters import NO_TEXT, is_text
from documents.problem import DocumentError, Problem

LONGEST_NOTE = 500


def acknowledge(*, actor: Actor, run: Run, metric: str, note: str) -> Acknowledgement:
    """Note why a metric changed at this run; a second note replaces the first."""
    require(actor, Right.RUNS_WRITE, to="acknowledge_change", kind="run", name=run.short_id)
    text = note.strip()
    problems = []
    if metric not in METRICS:
        problems.append(Problem("metric", metric, f"must be one of {', '.join(METRICS)}"))
    if not text or len(text) > LONGEST_NOTE:
        message = f"must say why, in 1 to {LONGEST_NOTE} characters"
        problems.append(Problem("note", note, message))
    elif not is_text(text):
        problems.append(Problem("note", note, NO_TEXT))
    if problems:
        raise DocumentError(problems)
    with transaction.atomic():
        kept, _ = Acknowledgement.objects.update_or_create(
            run=run, metric=metric, defaults={"note": text, "created_by": actor.user}
        )
        audit.record(
            team_id=actor.team.pk,
            actor=actor.name,
            verb="acknowledge_change",
            kind="run",
            object_id=run.pk,
            name=run.short_id,
            detail={"metric": metric, "note": text},
        )
    return kept
