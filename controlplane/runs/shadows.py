"""A run's shadow as its page tells it: what it decided, what came of it, what it can't know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.runs.models import Run
from loadtest import shadow_rules
from schedulers.runtime.shadow import ShadowReport

LEFT_NONE = "The run ended before anything of its shadow was stored."


def told(run: Run, decisions: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The part of a frame that is about the shadow; None for a run that has none."""
    if run.scenario.get("shadow") is None:
        return None
    found = report_of(run)
    return {
        "decisions": list(decisions),
        "report": found.to_json() if found else None,
        "said": said(found, over=not run.is_live),
        "cannot_know": shadow_rules.CANNOT_KNOW,
    }


def report_of(run: Run) -> ShadowReport | None:
    """The report's, or the newest that was stored while the run went on."""
    given = ((run.summary or {}).get("shadow") or {}).get("report") or run.live.get("shadow")
    return ShadowReport.from_json(given) if given else None


def said(report: ShadowReport | None, *, over: bool) -> list[str]:
    """One or two sentences."""
    if report is None and over:
        return [LEFT_NONE]
    return shadow_rules.sentences(report or ShadowReport(), over=over)
