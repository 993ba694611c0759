"""The one message that a rollout's page lives on: how it stands now, ready to draw.

Every frame is whole: what it holds is bounded, so the newest one is all that a page needs.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from controlplane.rollouts.charting import arms_of, gaps_of
from controlplane.rollouts.models import Rollout, StageRun
from controlplane.rollouts.moving import run_of
from controlplane.rollouts.presenting import bar_of
from controlplane.rollouts.tables import evidence_rows
from measurement.slo import Slo

Frame = dict[str, Any]


def build(rollout: Rollout, now: datetime) -> Frame:
    """As the rollout stands now."""
    run = shown(rollout)
    slo = Slo.parse(rollout.slo_version.document)
    now_running = run_of(rollout)
    looked_at = now_running.looked_at if now_running is not None else None
    at = looked_at or rollout.phase_since
    return {
        "type": "frame",
        "full": True,
        "seq": rollout.seq,
        "run": {
            "status": rollout.phase,
            "updated_at": at.isoformat().replace("+00:00", "Z"),
        },
        "verdict": bar_of(rollout, now),
        "canary": canary(run, slo) if run is not None else None,
    }


def canary(run: StageRun, slo: Slo | None) -> dict[str, Any]:
    """Both arms and their differences."""
    verdict = (run.evidence.get("verdict") or {}) | (run.evidence.get("guard") or {})
    return {
        "stage": f"{run.index}-{run.attempt}",
        "gaps": gaps_of(run),
        "arms": arms_of(run, slo),
        "rows": [{**row, "word": str(row["word"])} for row in evidence_rows(run)],
        "k": verdict.get("k", 0),
        "n": verdict.get("n"),
        "because": run.because,
    }


def shown(rollout: Rollout) -> StageRun | None:
    """The canary that the page is about: the newest that has begun."""
    runs = rollout.stage_runs.filter(kind="canary").select_related("rollout")
    return runs.order_by("index", "attempt").last()
