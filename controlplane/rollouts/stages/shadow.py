"""Shadow: the candidate decides beside live traffic. No outcomes of its own, so judged otherwise:
bake time, no stale signals, no errors, and how far its decisions are from the active ones."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from controlplane.gateways import reading
from controlplane.gateways import services as gateways
from controlplane.rollouts.history import SYSTEM
from controlplane.rollouts.machine import Finding
from controlplane.rollouts.models import Rollout, StageRun
from controlplane.rollouts.stage_documents import ShadowStage
from controlplane.rollouts.stages.base import Found, elapsed_s, late, stage_of
from controlplane.rollouts.stages.silence import catching_up, silent
from schedulers.runtime.shadow import ShadowReport


class ShadowRunner:
    def enter(self, rollout: Rollout, run: StageRun, now: datetime) -> None:  # noqa: ARG002
        gateways.set_shadow(
            gateway=rollout.gateway,
            version=rollout.candidate_version,
            by=SYSTEM,
            reason=f"shadow stage of {rollout}",
        )
        run.setting = {"revision": rollout.gateway.revision}
        run.save(update_fields=["setting"])

    def look(self, rollout: Rollout, run: StageRun, now: datetime) -> Found | None:
        stage = stage_of(rollout, run)
        assert isinstance(stage, ShadowStage)  # noqa: S101 - found by its kind
        if catching_up(rollout, run, now):
            return None
        if silent(rollout, run, now):
            because = "Invalid because the gateway's telemetry is stale, and silence is no evidence."
            return Found(Finding.INVALID, because, 0)
        if faults := reading.faults(rollout.gateway, since=run.entered_at):
            because = f"Invalid because the gateway reports a fault: {faults[0]}"
            return Found(Finding.INVALID, because, 0)
        reports = reading.shadow_reports(
            rollout.gateway, rollout.candidate_version, since=run.entered_at
        )
        return judge_shadow(
            stage, total(reports), elapsed_s(run, now), over=late(rollout, run, now)
        )

    def leave(self, rollout: Rollout, run: StageRun, now: datetime) -> None:  # noqa: ARG002
        gateways.set_shadow(
            gateway=rollout.gateway, version=None, by=SYSTEM, reason=f"{rollout}: shadow has passed"
        )

    def stop(self, rollout: Rollout, run: StageRun, reason: str) -> None:
        """The rollback takes the shadow away."""


def total(reports: Iterable[ShadowReport]) -> ShadowReport:
    """All lanes and processes together; the first of their divergences."""
    found = list(reports)
    diverged = [one.diverged for one in found if one.diverged is not None]
    lowest = [one.least for one in found if one.least is not None]
    highest = [one.most for one in found if one.most is not None]
    return ShadowReport(
        steps=sum(one.steps for one in found),
        agreeing=sum(one.agreeing for one in found),
        diverged=min(diverged, key=lambda one: one.at) if diverged else None,
        would_have_held=sum(one.would_have_held for one in found),
        granted=sum(one.granted for one in found),
        would_have_sent=sum(one.would_have_sent for one in found),
        decisions=sum(one.decisions for one in found),
        least=min(lowest, default=None),
        most=max(highest, default=None),
    )


def judge_shadow(stage: ShadowStage, seen: ShadowReport, elapsed: float, *, over: bool) -> Found:
    """The report against the stage's margins, once the bake time is over."""
    evidence = {"report": seen.to_json(), "elapsed_s": round(elapsed, 1)}
    held = seen.would_have_held / seen.granted if seen.granted else 0.0
    sent = seen.would_have_sent / seen.steps if seen.steps else 0.0
    facts = (
        f"limits agreed at {100 * (seen.agreement or 0.0):.1f} % of {seen.steps:,} steps, "
        f"{100 * held:.1f} % of {seen.granted:,} grants would have been held"
    )
    finding, because = Finding.GOING, f"Baking: {facts}."
    if elapsed >= stage.bake_s and seen.steps >= stage.least_steps:
        if outside := list(_outside(stage, seen.agreement or 0.0, held, sent)):
            finding, because = Finding.INCONCLUSIVE, f"Inconclusive because {outside[0]}; {facts}."
        else:
            finding, because = Finding.PASS, f"Passing because {facts}, within the plan's margins."
    elif over:
        because = (
            f"Inconclusive because the candidate had stepped {seen.steps:,} times by the deadline, "
            f"where {stage.least_steps:,} are needed."
        )
        finding = Finding.INCONCLUSIVE
    return Found(finding, because, seen.steps, evidence)


def _outside(stage: ShadowStage, agreement: float, held: float, sent: float) -> Iterable[str]:
    if agreement < stage.agreement:
        yield f"the limits agreed less than the {100 * stage.agreement:g} % that the plan asks for"
    if held > stage.held_margin:
        yield f"it would have held back more than the {100 * stage.held_margin:g} % of the plan"
    if sent > stage.sent_margin:
        yield f"it would have sent more at over {100 * stage.sent_margin:g} % of the steps"
