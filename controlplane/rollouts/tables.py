"""Rows of a rollout's tables: what a canary has shown by criterion, and what it can find."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy

from controlplane.rollouts.models import Rollout, StageRun

FINDINGS = {
    "going": ("run", gettext_lazy("running")),
    "pass": ("pass", gettext_lazy("pass")),
    "harm": ("fail", gettext_lazy("harm")),
    "inconclusive": ("inconclusive", gettext_lazy("inconclusive")),
    "invalid": ("invalid", gettext_lazy("invalid")),
}
"""Tone and word of each finding."""


def evidence_rows(run: StageRun | None) -> list[Mapping[str, Any]]:
    """Each criterion of a canary with every number that its verdict rests on, in points."""
    if run is None or not run.evidence.get("verdict"):
        return []
    told = run.evidence.get("guard") or run.evidence["verdict"]
    return [_row(row) for row in told["criteria"]]


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    tone, word = FINDINGS[row["outcome"]]
    low = high = None
    if row["m"] is not None and row["r_harm"] is not None and row["r_pass"] is not None:
        low, high = row["m"] - row["r_harm"], row["m"] + row["r_pass"]
    return {
        "name": row["label"],
        "tone": tone,
        "word": word,
        "candidate": _percent(row["candidate_rate"]),
        "candidate_n": f"n {row['candidate']['offered']:,}{_unused(row)}",
        "baseline": _percent(row["baseline_rate"]),
        "baseline_n": f"n {row['baseline']['offered']:,}",
        "m": _signed(row["m"]),
        "band": "–" if low is None else f"{_signed(low)[:-3]} … {_signed(high)}",
        "margin": f"margin {100 * row['pass_margin']:+.3g} pt",
        "pooled": f"{row['pooled']:,}",
        "rare": row["rare"],
        "e": "–" if row["log10_e"] is None else f"10^{row['log10_e']:.1f}",
        "detectable": _signed(row["detectable"]),
        "accepted_by": row["accepted_by"],
    }


def _unused(row: Mapping[str, Any]) -> str:
    """Blocks that this criterion can't judge; a verdict stored earlier does not tell them."""
    blocks = row.get("unused", 0)
    return f"; {blocks:,} blocks without a value" if blocks else ""


def power_rows(rollout: Rollout) -> list[dict[str, Any]]:
    """What each canary can find, in per cent, with its warnings."""
    return [
        {
            "stage": part["stage"],
            "name": row["criterion"],
            "gap": f"{100 * row['gap']:.3g} pt",
            "harm": f"{100 * row['harm']:.0f} %",
            "passes": f"{100 * row['pass']:.0f} %",
            "median": row["median_block"],
            "warnings": row["warnings"],
        }
        for part in rollout.power
        for row in part["criteria"]
    ]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f} %"


def _signed(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:+.2f} pt".replace("-", "−")
