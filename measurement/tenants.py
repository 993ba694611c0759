"""The run by tenant: a row each, the worst of them, and how fairly they were served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from measurement.outcome import Outcome
from measurement.proportion import Share
from measurement.quantiles import Quantiles
from measurement.sample import Sample
from measurement.slo import Slo
from measurement.tally import Tallies


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


def rows(
    samples: Sequence[Sample], slo: Slo | None, tallies: Tallies | None = None
) -> tuple[TenantRow, ...]:
    """A row for each tenant, in order of name."""
    total = sum(sample.output_tokens or 0 for sample in samples)
    by_tenant: dict[str, list[Sample]] = {}
    for sample in samples:
        by_tenant.setdefault(sample.tenant, []).append(sample)
    tallies = tallies or Tallies(slo)
    return tuple(
        _row(name, own, None if slo is None else slo.target_for(name), total, tallies)
        for name, own in sorted(by_tenant.items())
    )


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


def _row(
    name: str, own: Sequence[Sample], target: float | None, total: int, tallies: Tallies
) -> TenantRow:
    successes = [sample for sample in own if sample.outcome.success]
    tokens = sum(sample.output_tokens or 0 for sample in own)
    return TenantRow(
        tenant=name,
        offered=len(own),
        joint=tallies.of(own).joint,
        target=target,
        ttft_ms=Quantiles.of([s.ttft for s in successes if s.ttft is not None], scale=1e3),
        tpot_ms=Quantiles.of([s.tpot for s in successes if s.tpot is not None], scale=1e3),
        shed=sum(sample.outcome is Outcome.SHED for sample in own),
        output_tokens=tokens,
        token_share=tokens / total if total else None,
    )
