"""Shadow: the candidate decides beside live traffic. No outcomes of its own, so judged otherwise:
bake time, no stale signals, no errors, and how far its decisions are from the active ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from controlplane.gateways import reading
from controlplane.gateways import services as gateways
from controlplane.gateways.reading import ShadowSeen
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
            version_or_none=rollout.candidate_version,
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
            because = (
                "Invalid because the gateway's telemetry is stale, and silence is no evidence."
            )
            return Found(Finding.INVALID, because, 0)
        reports = reading.shadow_reports(
            rollout.gateway, rollout.candidate_version, since=run.entered_at.timestamp()
        )
        if fault := fault_of(rollout, run, reports):
            return Found(Finding.INVALID, f"Invalid because {fault}", 0)
        seen = total(reports)
        cost = 1e6 * sum(one.deciding_seconds for one in reports) / max(1, seen.steps)
        over = late(rollout, run, now)
        return judge_shadow(stage, seen, Spent(elapsed_s(run, now), cost, over=over))

    def leave(self, rollout: Rollout, run: StageRun, now: datetime) -> None:  # noqa: ARG002
        gateways.set_shadow(
            gateway=rollout.gateway,
            version_or_none=None,
            by=SYSTEM,
            reason=f"{rollout}: shadow has passed",
        )

    def stop(self, rollout: Rollout, run: StageRun, reason: str) -> None:
        """The rollback takes the shadow away."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds since it began, and µs that a step of the shadow took on average."""

    elapsed_s: float
    deciding_us: float = 0.0
    over: bool = False
    """Past its deadline."""


def fault_of(rollout: Rollout, run: StageRun, reports: Sequence[ShadowSeen]) -> str:
    """What a gateway process says went wrong since the stage began; empty if nothing did."""
    for one in reports:
        if one.fault:
            return f"the shadow failed on lane {one.lane}: {one.fault}"
    refused = rollout.gateway.faults.filter(heard_at__gte=run.entered_at).first()
    return f"the gateway reports {refused.code}: {refused.problems}" if refused else ""


def total(reports: Iterable[ShadowSeen]) -> ShadowReport:
    """All lanes and processes together; the first of their divergences."""
    found = [one.report for one in reports]
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


def judge_shadow(stage: ShadowStage, seen: ShadowReport, spent: Spent) -> Found:
    """The report against the stage's margins, once the bake time is over."""
    elapsed = round(spent.elapsed_s, 1)
    evidence = {
        "report": asdict(seen) | {"agreement": seen.agreement},
        "elapsed_s": elapsed,
        "deciding_us": round(spent.deciding_us, 2),
    }
    held = seen.would_have_held / seen.granted if seen.granted else 0.0
    facts = (
        f"limits agreed at {100 * (seen.agreement or 0.0):.1f} % of {seen.steps:,} steps, "
        f"{100 * held:.1f} % of {seen.granted:,} grants would have been held"
    )
    finding, because = Finding.GOING, f"Baking: {facts}."
    if elapsed >= stage.bake_s and seen.steps >= stage.least_steps:
        if outside := list(_outside(stage, seen, spent)):
            finding, because = Finding.INCONCLUSIVE, f"Inconclusive because {outside[0]}; {facts}."
        else:
            finding, because = Finding.PASS, f"Passing because {facts}, within the plan's margins."
    elif spent.over:
        because = (
            f"Inconclusive because the candidate had stepped {seen.steps:,} times by the deadline, "
            f"where {stage.least_steps:,} are needed."
        )
        finding = Finding.INCONCLUSIVE
    return Found(finding, because, seen.steps, evidence)


def _outside(stage: ShadowStage, seen: ShadowReport, spent: Spent) -> Iterator[str]:
    if (seen.agreement or 0.0) < stage.agreement:
        yield f"the limits agreed less than the {100 * stage.agreement:g} % that the plan asks for"
    if seen.would_have_held > stage.held_margin * seen.granted:
        yield f"it would have held back more than the {100 * stage.held_margin:g} % of the plan"
    if seen.would_have_sent > stage.sent_margin * seen.steps:
        yield f"it would have sent more at over {100 * stage.sent_margin:g} % of the steps"
    if spent.deciding_us > stage.deciding_us:
        yield f"a step took it {spent.deciding_us:.0f} µs, where {stage.deciding_us:g} are allowed"
