"""Full: the candidate is the active version, on every lane; it has to be seen there, unharmed."""

from __future__ import annotations

from datetime import datetime, timedelta

from controlplane.gateways import reading
from controlplane.gateways import services as gateways
from controlplane.rollouts.history import SYSTEM
from controlplane.rollouts.machine import Finding
from controlplane.rollouts.models import Rollout, StageRun
from controlplane.rollouts.pace import failures
from controlplane.rollouts.stage_documents import FullStage
from controlplane.rollouts.stages.base import Found, elapsed_s, late, stage_of
from controlplane.rollouts.stages.silence import catching_up, silent
from measurement.comparison.health import HARD_STOP_SHARE

WINDOW = timedelta(seconds=10)
LEAST_REQUESTS = 20
"""With fewer in a window a share of errors says nothing."""


class FullRunner:
    def enter(self, rollout: Rollout, run: StageRun, now: datetime) -> None:  # noqa: ARG002
        gateways.set_active(  # which ends a canary of this very version, under the same revision
            gateway=rollout.gateway,
            version=rollout.candidate_version,
            by=SYSTEM,
            reason=f"full stage of {rollout}",
        )
        run.setting = {"revision": rollout.gateway.revision}
        run.save(update_fields=["setting"])

    def look(self, rollout: Rollout, run: StageRun, now: datetime) -> Found | None:
        stage = stage_of(rollout, run)
        assert isinstance(stage, FullStage)  # noqa: S101 - found by its kind
        if catching_up(rollout, run, now):
            return None
        if silent(rollout, run, now):
            because = (
                "Invalid because the gateway's telemetry is stale, and silence is no evidence."
            )
            return Found(Finding.INVALID, because, 0)
        if stop := mostly_fails(rollout, run, now):
            return Found(Finding.HARM, stop, 0)
        everywhere = _everywhere(rollout, run)
        if everywhere and elapsed_s(run, now) >= stage.bake_s:
            because = f"{rollout.candidate_version.line.name} {rollout.candidate_version} serves "
            because += f"on every lane, for {stage.bake_s:g} s without a hard stop."
            return Found(Finding.PASS, because, 1)
        if late(rollout, run, now):
            because = "Inconclusive because the gateway was not seen to run it by the deadline."
            return Found(Finding.INCONCLUSIVE, because, 0)
        because = "Watching it on every lane." if everywhere else "Waiting to see it on every lane."
        return Found(Finding.GOING, because, 0)

    def leave(self, rollout: Rollout, run: StageRun, now: datetime) -> None:
        """Nothing comes after it."""

    def stop(self, rollout: Rollout, run: StageRun, reason: str) -> None:
        """The rollback makes the baseline active again."""


def _everywhere(rollout: Rollout, run: StageRun) -> bool:
    """Whether every live process says that it runs the candidate on each lane, and nothing else."""
    seen = reading.seen(rollout.gateway)
    if seen is None or seen.revision < run.setting["revision"]:
        return False
    return set(seen.policies.values()) == {frozenset({rollout.candidate_version.sha256})}


def mostly_fails(rollout: Rollout, run: StageRun, now: datetime) -> str:
    """A hard stop: over half of the requests failed in two windows in a row, since it is active."""
    shares = []
    for ago in (1, 0):
        until = now - ago * WINDOW
        if until - WINDOW < run.entered_at:
            return ""
        offered, failed = failures(rollout.gateway, since=until - WINDOW, until=until)
        if offered < LEAST_REQUESTS or failed <= HARD_STOP_SHARE * offered:
            return ""
        shares.append(100 * failed / offered)
    return (
        f"Harm because {max(shares):.1f} % of requests failed in two windows of "
        f"{WINDOW.total_seconds():g} s in a row under it."
    )
