"""Who was served, and what went wrong: counts of the whole run, by tenant and by outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from controlplane.runs.models import Run
from measurement.cohort import Cohort
from measurement.outcome import Outcome


class _Line(msgspec.Struct):
    """The part of a sample's line that tells of a failure."""

    outcome: str
    error: str = ""


class FirstErrors:
    """The first error text of each outcome, read as the samples file grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._decode = msgspec.json.Decoder(_Line).decode
        self.texts: dict[str, str] = {}

    def read(self) -> dict[str, str]:
        """Take in the whole lines that are new."""
        if not self._path.exists():
            return self.texts
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for raw in file:
                if not raw.endswith(b"\n"):
                    break
                self._offset += len(raw)
                self._take(raw)
        return self.texts

    def _take(self, raw: bytes) -> None:
        try:
            line = self._decode(raw)
        except msgspec.MsgspecError:
            return
        if line.error:
            self.texts.setdefault(line.outcome, line.error[:500])


def counts(cohort: Cohort) -> dict[str, Any]:
    """What the tables need of a run so far, small enough to store at every change."""
    return {
        "offered": cohort.offered,
        "outcomes": {str(outcome): n for outcome, n in cohort.outcomes.items()},
        "tenants": cohort.to_json()["tenants"],
    }


def failures(run: Run) -> list[dict[str, Any]]:
    """Outcomes that are no success, the most frequent first."""
    known: Mapping[str, Any] = run.live.get("counts") or {}
    offered = known.get("offered") or 0
    texts = run.live.get("first_errors") or {}
    rows = [
        {
            "outcome": name,
            "count": n,
            "share": n / offered if offered else None,
            "first_error": texts.get(name, ""),
        }
        for name, n in (known.get("outcomes") or {}).items()
        if n and not Outcome(name).success
    ]
    return sorted(rows, key=lambda row: (-row["count"], row["outcome"]))


def tenants(run: Run, targets: Callable[[str], float] | None) -> list[dict[str, Any]]:
    """One row a tenant: counts so far, with the report's percentiles once there is one."""
    known: Mapping[str, Any] = (run.live.get("counts") or {}).get("tenants") or {}
    reported = {row.get("tenant"): row for row in (run.summary or {}).get("tenants") or ()}
    total = sum(row["output_tokens"] for row in known.values())
    facts = run.scenario.get("tenants") or {}
    rows = []
    for name, row in sorted(known.items(), key=lambda item: -item[1]["offered"]):
        judged = row["met"] + row["missed"]
        final = reported.get(name) or {}
        rows.append(
            {
                "tenant": name,
                "tier": (facts.get(name) or {}).get("tier", ""),
                "offered": row["offered"],
                "attainment": row["met"] / judged if judged else None,
                "low": final.get("low"),
                "high": final.get("high"),
                "target": targets(name) if targets else None,
                **_p99("ttft", final),
                **_p99("tpot", final),
                "shed": row["shed"],
                "token_share": row["output_tokens"] / total if total else None,
            }
        )
    return rows


def _p99(metric: str, final: Mapping[str, Any]) -> dict[str, float | None]:
    """The report's P99, and the rough one where n is too small for it."""
    found = final.get(f"{metric}_ms") or {}
    rough = (found.get("rough") or {}).get("p99")
    return {f"{metric}_p99_ms": found.get("p99"), f"{metric}_rough_ms": rough}
