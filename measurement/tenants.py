"""The run by tenant: a row each, the worst of them, and how fairly they were served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from measurement.columns import SampleColumns
from measurement.judgements import Judgements
from measurement.latencies import OF_SUCCESSES
from measurement.outcome import Outcome
from measurement.parts_of_run import Parts
from measurement.proportion import Share
from measurement.quantiles import Quantiles


@dataclass(frozen=True, slots=True)
class TenantRow:
    """One tenant's part of a run."""

    tenant: str
    offered: int
    joint: Share
    target: float | None
    ttft_ms: Quantiles
    tpot_ms: Quantiles
    shed: int
    output_tokens: int
    token_share: float | None
    """Of all output tokens of the run."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; ``low`` and ``high`` are the two-sided 95 % interval."""
        low, high = self.joint.interval() if self.joint.n else (None, None)
        return {
            "tenant": self.tenant,
            "offered": self.offered,
            "attainment": self.joint.value,
            "low": low,
            "high": high,
            "n": self.joint.n,
            "effective_n": round(self.joint.effective_n, 1),
            "target": self.target,
            "ttft_ms": self.ttft_ms.to_json(),
            "tpot_ms": self.tpot_ms.to_json(),
            "shed": self.shed,
            "output_tokens": self.output_tokens,
            "token_share": self.token_share,
        }


def rows(columns: SampleColumns, judgements: Judgements) -> tuple[TenantRow, ...]:
    """A row for each tenant, in order of name. The columns are the end of those judged."""
    parts = Parts.by(columns, judgements, lambda block: block.tenant)
    tokens = parts.sums(lambda block: np.nan_to_num(block.output_tokens))
    shed = parts.sums(lambda block: block.became(Outcome.SHED))
    ttft, tpot = (parts.quantiles(OF_SUCCESSES[name]) for name in ("ttft_ms", "tpot_ms"))
    total, slo = sum(tokens.values()), judgements.slo
    found = [
        TenantRow(
            tenant=columns.tenants[code],
            offered=parts.offered[code],
            joint=parts.joint(code),
            target=None if slo is None else slo.target_for(columns.tenants[code]),
            ttft_ms=ttft[code],
            tpot_ms=tpot[code],
            shed=shed[code],
            output_tokens=tokens[code],
            token_share=tokens[code] / total if total else None,
        )
        for code in parts.offered
    ]
    return tuple(sorted(found, key=lambda row: row.tenant))


def worst(found: Sequence[TenantRow]) -> TenantRow | None:
    """The tenant with the least attainment; None where nobody has any."""
    known = [row for row in found if row.joint.n]
    return min(known, key=lambda row: row.joint.value or 0.0, default=None)


def fairness(
    found: Sequence[TenantRow], weights: Mapping[str, float] | None = None
) -> dict[str, float | None]:
    """``max_min``: highest over lowest attainment, 1 when equal, null when the lowest is 0.

    ``jain``: Jain's index over output tokens by weight: 1 when all are served alike, 1/n when
    one tenant gets all. Null before any token.
    """
    shares = [row.joint.value or 0.0 for row in found if row.joint.n]
    served = [row.output_tokens / (weights or {}).get(row.tenant, 1.0) for row in found]
    squares = sum(tokens**2 for tokens in served)
    return {
        "max_min": max(shares) / min(shares) if shares and min(shares) > 0 else None,
        "jain": sum(served) ** 2 / (len(served) * squares) if squares else None,
    }
