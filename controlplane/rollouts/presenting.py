"""A rollout in words: the verdict bar, its stages, what is asked of whom."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from controlplane.gateways import budget_page
from controlplane.rollouts import approving
from controlplane.rollouts.advancing import freeze, spent
from controlplane.rollouts.deciding import rare_of
from controlplane.rollouts.machine import Phase
from controlplane.rollouts.models import Rollout, StageRun
from controlplane.rollouts.moving import run_of
from controlplane.rollouts.stage_documents import CanaryStage, ShadowStage, Stage, deadline_s
from controlplane.rollouts.tables import FINDINGS
from controlplane.teams.rights import Actor, Right
from measurement.slo import Slo

TONES = {
    Phase.DRAFT: "none",
    Phase.WAITING: "wait",
    Phase.RUNNING: "run",
    Phase.HELD: "warn",
    Phase.DONE: "pass",
    Phase.ROLLED_BACK: "fail",
    Phase.ABORTED: "cancelled",
}


def tone_of(rollout: Rollout) -> str:
    """Its shape and colour."""
    return TONES[Phase(rollout.phase)]


def bar_of(rollout: Rollout, now: datetime) -> dict[str, str]:
    """The verdict bar: the phase, because, and what happens if nobody does anything."""
    name = rollout.document.name_of(rollout.stage)
    run = run_of(rollout)
    because = rollout.because
    if rollout.phase == Phase.RUNNING and run is not None:
        because = _so_far(run) or because
    if rollout.phase == Phase.DRAFT:
        because = _("It has not been started.")
    if rollout.phase == Phase.WAITING:
        because = _waits_for(rollout, now)
    return {
        "outcome": tone_of(rollout),
        "word": str(rollout.get_phase_display()),
        "state": _state(rollout, name),
        "because": because,
        "detail": _detail(rollout),
    }


def _so_far(run: StageRun) -> str:
    """What the stage's own evidence says while it is gathered."""
    if run.comparison is not None:
        return str((run.comparison.verdict or {}).get("because", ""))
    return run.because


def _state(rollout: Rollout, name: str) -> str:
    phase = Phase(rollout.phase)
    if phase is Phase.WAITING:
        return _("before %(stage)s") % {"stage": name}
    if phase in (Phase.RUNNING, Phase.HELD):
        return _("in %(stage)s") % {"stage": name}
    if phase is Phase.DRAFT:
        return _("nothing has run")
    return _("after %(stage)s") % {"stage": name}


def _waits_for(rollout: Rollout, now: datetime) -> str:
    """What the next stage waits for: approvals first, then a freeze or a spent budget."""
    name = rollout.document.name_of(rollout.stage)
    needed = rollout.standing.needed[rollout.stage]
    missing = needed - len(approving.holding(rollout, now))
    if missing > 0:
        said = ngettext(
            "%(stage)s waits for one more approval, by somebody who had no part in the change.",
            "%(stage)s waits for %(n)s more approvals, by people who had no part in the change.",
            missing,
        )
        return said % {"stage": name, "n": missing}
    if window := freeze(rollout, now):
        said = _("%(stage)s waits until %(until)s UTC, when the freeze ends: %(reason)s.")
        until = f"{window.ends_at:%Y-%m-%d %H:%M}"
        return said % {"stage": name, "until": until, "reason": window.reason}
    if budget := spent(rollout):
        said = _(
            "%(stage)s waits, as an error budget of %(gateway)s is spent: %(budget)s. "
            "Rollbacks never wait."
        )
        slo = rollout.gateway.slo_version
        title = budget_page.title(budget, Slo.parse(slo.document) if slo else None)
        return said % {"stage": name, "gateway": rollout.gateway.name, "budget": title}
    return _("%(stage)s begins at the next look.") % {"stage": name}


def _detail(rollout: Rollout) -> str:
    phase = Phase(rollout.phase)
    before = rollout.baseline_version
    baseline = f"{before.line.name} {before}"
    if phase is Phase.DONE:
        after = rollout.candidate_version
        text = _("%(version)s serves on every lane, and is the alias stable.")
        return text % {"version": f"{after.line.name} {after}"}
    if phase in (Phase.ROLLED_BACK, Phase.ABORTED):
        return _("%(baseline)s serves on every lane.") % {"baseline": baseline}
    if phase is Phase.DRAFT:
        return _("Starting it needs no approval; what acts on traffic does.")
    return _("On harm it rolls back by itself within two blocks, in whatever state it is.")


def steps_of(rollout: Rollout) -> list[dict[str, Any]]:
    """The stages in order, each with its newest attempt."""
    runs: dict[int, StageRun] = {}
    for run in rollout.stage_runs.select_related("comparison").order_by("attempt"):
        runs[run.index] = run
    plan = rollout.document
    return [
        _step(rollout, index, stage, runs.get(index)) for index, stage in enumerate(plan.stages)
    ]


def _step(rollout: Rollout, index: int, stage: Stage, run: StageRun | None) -> dict[str, Any]:
    here = index == rollout.stage and rollout.is_live
    finding = FINDINGS.get(run.finding) if run is not None else None
    if run is not None and run.finding == "going" and not (here and rollout.phase == Phase.RUNNING):
        finding = ("cancelled", _("stopped")) if run.ended_at else None
    done = run is not None and run.finding == "pass"
    return {
        "name": rollout.document.name_of(index),
        "state": "done" if done else "now" if here else "todo",
        "here": here,
        "waits": here and rollout.phase == Phase.WAITING,
        "finding": finding,
        "because": run.because or _so_far(run) if run is not None else "",
        "plan": planned(stage),
        "attempt": run.attempt if run is not None and run.attempt > 1 else None,
        "href": run.comparison.get_absolute_url() if run and run.comparison else "",
        "evidence": bool(run and run.evidence and run.kind in ("canary", "shadow")),
        "index": index,
        "approvals": stage.approvals,
    }


def planned(stage: Stage) -> str:
    """What the stage will do, in a few words."""
    if isinstance(stage, CanaryStage):
        text = _("%(share)g %% a lane, at least 20 of %(blocks)s blocks")
        return text % {"share": 100 * stage.weight, "blocks": stage.blocks}
    if isinstance(stage, ShadowStage) or stage.kind == "full":
        return _("%(time)s of bake time") % {"time": seconds(stage.planned_s)}
    return _("%(blocks)s blocks, paired") % {"blocks": getattr(stage, "blocks", 0)}


def seconds(value: float) -> str:
    """``45 s``, ``12 min``, ``2.5 h``."""
    if value < 120:
        return f"{value:g} s"
    return f"{value / 60:.3g} min" if value < 7200 else f"{value / 3600:.3g} h"


def decision_of(rollout: Rollout, actor: Actor, now: datetime) -> dict[str, Any] | None:
    """The panel in which people decide; None where nothing is asked of anybody."""
    phase = Phase(rollout.phase)
    run = run_of(rollout)
    needed = rollout.standing.needed[rollout.stage]
    waits = phase is Phase.WAITING and needed > 0
    rare = rare_of(run) if run is not None and phase in (Phase.HELD, Phase.RUNNING) else {}
    if not waits and phase is not Phase.HELD and not rare:
        return None
    holding = approving.holding(rollout, now)
    mine = waits and any(one.user_id == actor.user.pk for one in holding)
    return {
        "stage": rollout.document.name_of(rollout.stage),
        "waits": waits,
        "held": phase is Phase.HELD,
        "kept": rollout.kept,
        "needed": needed,
        "missing": max(0, needed - len(holding)),
        "approvals": [
            {"by": one.user, "at": one.at, "expires_at": one.expires_at, "comment": one.comment}
            for one in holding
        ],
        "could": [one.get_username() for one in approving.candidates(rollout)],
        "role": approving.role_needed(rollout),
        "binding": approving.binding_of(rollout),
        "why_not": _why_not(rollout, actor, mine=mine),
        "may_reject": actor.may(Right.APPROVE),
        "rare": [{"name": name, "unseen": 100 * share} for name, share in rare.items()],
    }


def _why_not(rollout: Rollout, actor: Actor, *, mine: bool) -> str:
    """Why this person can't approve; empty if they can."""
    if not actor.may(Right.APPROVE):
        return _("Your role (%(role)s) can't approve; the role approver can.") % {
            "role": actor.role
        }
    if part := approving.excluded(rollout).get(actor.user.pk):
        said = _("You %(part)s: somebody who had no part in the change has to approve it.")
        return said % {"part": part}
    needed = approving.role_needed(rollout)
    if not approving.approves(actor.role, needed):
        return _("This stage needs the role %(role)s.") % {"role": needed}
    return _("You have approved it.") if mine else ""


def inaction_of(rollout: Rollout) -> str:
    """What happens if nobody does anything."""
    phase = Phase(rollout.phase)
    if phase is Phase.DRAFT:
        return _("Nothing: a draft waits for ever.")
    if phase is Phase.RUNNING:
        stage = rollout.document.stages[rollout.stage]
        run = run_of(rollout)
        began = run.entered_at if run is not None else rollout.phase_since
        until = began + timedelta(seconds=deadline_s(stage))
        said = _(
            "It gathers evidence. When that passes, the next stage waits for its approvals; "
            "undecided at %(until)s UTC it holds and asks. It never promotes on doubt."
        )
        return said % {"until": f"{until:%Y-%m-%d %H:%M:%S}"}
    if phase is Phase.WAITING:
        return _(
            "What runs now goes on as it is. Approvals lapse after 24 h; nothing is promoted "
            "without them."
        )
    if phase is Phase.HELD:
        return _("It stays held. Nothing is promoted; harm still rolls it back.")
    return ""


def undoing(rollout: Rollout) -> str:
    """What an abort will do, in full."""
    baseline = f"{rollout.baseline_version.line.name} {rollout.baseline_version}"
    kinds = set(rollout.stage_runs.values_list("kind", flat=True))
    if rollout.phase == Phase.DRAFT:
        return _("The draft ends as aborted. It has touched nothing.")
    if kinds & {"canary", "full"}:
        said = _(
            "All traffic of %(gateway)s goes to %(baseline)s with its next poll, within seconds. "
            "Requests under way finish as they are. The rollout ends as aborted; one audit entry "
            "says by whom. Needs no approval."
        )
        return said % {"gateway": rollout.gateway.name, "baseline": baseline}
    said = _(
        "What runs for it is stopped. No traffic was moved: %(baseline)s goes on serving "
        "%(gateway)s. The rollout ends as aborted. Needs no approval."
    )
    return said % {"gateway": rollout.gateway.name, "baseline": baseline}
