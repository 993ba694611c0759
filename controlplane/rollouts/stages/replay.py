"""Model and load test: both versions are asked the same, by a comparison of their own."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from controlplane.catalogue.models import Endpoint, PolicyVersion, SloVersion, Workload
from controlplane.comparisons import services as comparisons
from controlplane.comparisons.models import Comparison
from controlplane.rollouts.history import SYSTEM
from controlplane.rollouts.machine import Finding
from controlplane.rollouts.models import Rollout, StageRun
from controlplane.rollouts.stage_documents import LoadTestStage, Replay
from controlplane.rollouts.stages.base import Found, late, seed_of, stage_of
from controlplane.runs.launch import SEEDS
from controlplane.runs.models import LIVE, Status
from controlplane.teams.models import Team
from documents.problem import DocumentError, Problem

FINDINGS = MappingProxyType(
    {
        "pass": Finding.PASS,
        "harm": Finding.HARM,
        "inconclusive": Finding.INCONCLUSIVE,
        "invalid": Finding.INVALID,
    }
)


class ReplayRunner:
    """The comparison is its evidence, and has a page of its own."""

    def enter(self, rollout: Rollout, run: StageRun, now: datetime) -> None:  # noqa: ARG002
        stage = stage_of(rollout, run)
        assert isinstance(stage, Replay)  # noqa: S101 - found by its kind
        ask = ask_of(
            sides_of(rollout),
            stage,
            seed=seed_of(rollout, run) % SEEDS,
            stages=rollout.document.comparing,
        )
        run.comparison = comparisons.start_for(team=rollout.team, by=SYSTEM, ask=ask)
        run.save(update_fields=["comparison"])

    def look(self, rollout: Rollout, run: StageRun, now: datetime) -> Found | None:
        comparison = run.comparison
        if comparison is None:
            return Found(Finding.INVALID, "Its comparison is gone.", 0)
        if comparison.status in LIVE:
            return _late(comparison) if late(rollout, run, now) else None
        if comparison.status != Status.DONE:
            why = comparison.reason or "no reason was given"
            word = comparison.get_status_display().lower()
            return Found(Finding.INVALID, f"Its comparison is {word}: {why}", 0, _facts(comparison))
        finding = FINDINGS.get(comparison.outcome, Finding.INVALID)
        because = comparison.because or "Its comparison ended without a verdict."
        return Found(finding, because, 0, _facts(comparison))

    def leave(self, rollout: Rollout, run: StageRun, now: datetime) -> None:
        """It has ended by itself."""

    def stop(self, rollout: Rollout, run: StageRun, reason: str) -> None:  # noqa: ARG002
        if run.comparison is None or run.comparison.status not in LIVE:
            return
        with contextlib.suppress(comparisons.AlreadyEnded):
            comparisons.cancel_by_system(by=SYSTEM, comparison=run.comparison, reason=reason)


@dataclass(frozen=True, slots=True)
class Sides:
    """What a replay is about."""

    team: Team
    baseline: PolicyVersion
    candidate: PolicyVersion
    slo: SloVersion
    workload: Workload


def ask_of(sides: Sides, stage: Replay, *, seed: int, stages: int) -> comparisons.Ask:
    """What is asked of the comparison; ``stages`` share α."""
    where, endpoints = "model", ()
    if isinstance(stage, LoadTestStage):
        endpoints = endpoints_of(sides.team, stage)
        where = "endpoints" if endpoints else "engines"
    return comparisons.Ask(
        baseline=sides.baseline,
        candidate=sides.candidate,
        slo_version=sides.slo,
        workload=sides.workload,
        where=where,
        endpoints=endpoints,
        arrivals=dict(stage.arrivals),
        blocks=stage.blocks,
        block_s=stage.block_s,
        washout_s=stage.washout_s,
        margins=dict(stage.margins),
        bases=dict(stage.bases),
        seed=seed,
        stages=stages,
        **({"profile": stage.profile} if stage.profile else {}),
    )


def sides_of(rollout: Rollout) -> Sides:
    """DocumentError where the workload is gone."""
    if rollout.workload is None:
        raise DocumentError([Problem("workload", None, "is gone; propose the rollout anew")])
    return Sides(
        rollout.team,
        rollout.baseline_version,
        rollout.candidate_version,
        rollout.slo_version,
        rollout.workload,
    )


def endpoints_of(team: Team, stage: LoadTestStage) -> tuple[Endpoint, ...]:
    """The two that the plan names; DocumentError for one that the team has not."""
    known = {one.slug: one for one in Endpoint.objects.for_team(team)}
    missing = [slug for slug in stage.endpoints if slug not in known]
    if missing:
        message = "this team has no such endpoint"
        raise DocumentError([Problem("endpoints", missing, message)])
    return tuple(known[slug] for slug in stage.endpoints)


def _late(comparison: Comparison) -> Found:
    because = "Inconclusive because its comparison had not ended by the stage's deadline."
    return Found(Finding.INCONCLUSIVE, because, 0, _facts(comparison))


def _facts(comparison: Comparison) -> dict[str, object]:
    """Its own rows have the rest."""
    return {"comparison": str(comparison.pk), "verdict": comparison.verdict}
