"""Canary: the candidate on one of two equal lanes, judged after every block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from controlplane.gateways import reading
from controlplane.gateways import services as gateways
from controlplane.rollouts.history import SYSTEM
from controlplane.rollouts.machine import Finding
from controlplane.rollouts.models import Rollout, StageRun
from controlplane.rollouts.pace import LEAST_ANSWERS, pace
from controlplane.rollouts.plan import USUAL
from controlplane.rollouts.stage_documents import CanaryStage, deadline_s
from controlplane.rollouts.stages.base import Found, seed_of, stage_of
from controlplane.rollouts.stages.silence import catching_up, silent
from documents.problem import DocumentError, Problem
from measurement.comparison.assignment import Arm, slot_length
from measurement.comparison.block import Block
from measurement.comparison.confidence_sequence import LEAST_BLOCKS
from measurement.comparison.plan import ComparisonPlan
from measurement.comparison.stored import store
from measurement.comparison.verdict import ADVANCE, HOLD, ROLL_BACK, Evidence
from measurement.slo_parts import Metadata

LEAD_S = 5.0
"""From the change of the gateway's configuration to block 0: two polls of it, and a second."""

_FINDINGS = MappingProxyType(
    {ADVANCE: Finding.PASS, ROLL_BACK: Finding.HARM, HOLD: Finding.INCONCLUSIVE}
)


class CanaryRunner:
    def enter(self, rollout: Rollout, run: StageRun, now: datetime) -> None:
        stage = stage_of(rollout, run)
        assert isinstance(stage, CanaryStage)  # noqa: S101 - found by its kind
        seen = pace(rollout.gateway, now)
        if seen is None or not seen.rate:
            message = (
                f"had under {LEAST_ANSWERS} answers in the last five minutes: that gives slots no "
                "length. Send traffic through it, and resume"
            )
            raise DocumentError([Problem("gateway", rollout.gateway.slug, message)])
        washout = min(math.ceil(10 * seen.e2e_p99_s) / 10, 3_600.0)
        length = slot_length(
            washout=washout,
            floor=stage.floor_s,
            median_e2e=seen.e2e_p50_s,
            rate=seen.rate * stage.weight,
        )
        slot_s = math.ceil(10 * length) / 10
        if LEAST_BLOCKS * slot_s + LEAD_S > deadline_s(stage):
            message = (
                f"is asked {seen.rate:.3g} times a second, which makes slots of {slot_s:g} s: "
                f"{LEAST_BLOCKS} of them take longer than the stage's {deadline_s(stage):g} s. "
                "Give it a later deadline_s, or more traffic, and resume"
            )
            raise DocumentError([Problem("gateway", rollout.gateway.slug, message)])
        lanes = pair_of(rollout)
        canary = gateways.Canary(
            candidate=rollout.candidate_version,
            lanes=lanes,
            seed=seed_of(rollout, run),
            starts_at=float(math.ceil(now.timestamp() + LEAD_S)),
            blocks=stage.blocks,
            slot_s=slot_s,
            washout_s=washout,
            weight=stage.weight,
            criteria=stage.criteria or USUAL,
        )
        gateways.set_canary(
            gateway=rollout.gateway, canary=canary, by=SYSTEM, reason=f"canary stage of {rollout}"
        )
        run.setting = {
            "revision": rollout.gateway.revision,
            "lanes": list(lanes),
            "seed": canary.seed,
            "starts_at": canary.starts_at,
            "slot_s": canary.slot_s,
            "washout_s": canary.washout_s,
        }
        run.save(update_fields=["setting"])

    def look(self, rollout: Rollout, run: StageRun, now: datetime) -> Found | None:
        if catching_up(rollout, run, now, run.setting["slot_s"]):
            return None
        plan, evidence = comparison_plan(rollout, run), evidence_of(rollout, run, now)
        stored = store(plan, evidence)
        verdict = stored["verdict"]
        return Found(finding_of(verdict), verdict["because"], len(evidence.blocks), stored)

    def leave(self, rollout: Rollout, run: StageRun, now: datetime) -> None:
        """Its weight stays while the next stage waits, and ``guard`` goes on looking."""

    def stop(self, rollout: Rollout, run: StageRun, reason: str) -> None:
        """The rollback takes the canary away."""


def comparison_plan(rollout: Rollout, run: StageRun) -> ComparisonPlan:
    """What is judged: everything in it was fixed when the canary began."""
    stage, plan = stage_of(rollout, run), rollout.document
    assert isinstance(stage, CanaryStage)  # noqa: S101 - found by its kind
    ends = deadline_s(stage)
    return ComparisonPlan(
        metadata=Metadata(f"{plan.metadata.name}-{run.index}-{run.attempt}", plan.metadata.owner),
        baseline=rollout.baseline_version.sha256,
        candidate=rollout.candidate_version.sha256,
        criteria=stage.criteria or USUAL,
        seed=run.setting["seed"],
        blocks=stage.blocks,
        requests=stage.requests,
        alpha=plan.alpha,
        stages=plan.comparing,
        weight=stage.weight,
        floor_s=stage.floor_s,
        bake_s=min(stage.bake_s, ends),
        deadline_s=ends,
    )


def evidence_of(rollout: Rollout, run: StageRun, now: datetime) -> Evidence:
    """The closed blocks, and how things stand."""
    setting = run.setting
    blocks: Sequence[Block] = reading.blocks(
        rollout.gateway,
        comparison_plan(rollout, run),
        since_revision=setting["revision"],
        now=now.timestamp(),
    )
    quiet = silent(rollout, run, now, setting["slot_s"])
    return Evidence(
        blocks=tuple(blocks),
        elapsed_s=round(max(0.0, now.timestamp() - setting["starts_at"]), 3),
        silent=tuple(Arm) if quiet else (),
        accepted=run.accepted,
    )


def finding_of(verdict: Mapping[str, Any]) -> Finding:
    """What the machine is told of a stored verdict."""
    if verdict["outcome"] == Finding.INVALID:
        return Finding.INVALID
    return _FINDINGS.get(verdict["action"], Finding.GOING)


def pair_of(rollout: Rollout) -> tuple[str, str]:
    """The two lanes that are compared: the first two of the gateway, in its order."""
    names = list(rollout.gateway.lanes)
    if len(names) < 2:
        message = "needs two equal lanes: arms never share an engine at the same time"
        raise DocumentError([Problem("gateway", rollout.gateway.slug, message)])
    return names[0], names[1]
