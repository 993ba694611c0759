"""The run by length of prompt: a row each for the SLO's own bands, or for usual ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from measurement.proportion import Share
from measurement.quantiles import Quantiles
from measurement.sample import Sample
from measurement.slo import Slo
from measurement.tally import Tallies

USUAL = (256, 1_024, 4_096)
"""Edges in prompt tokens where the SLO has no bands."""


@dataclass(frozen=True, slots=True)
class BandRow:
    """Prompts over ``over`` tokens, up to ``up_to``; both None for those of unknown length."""

    over: int | None
    up_to: int | None
    offered: int
    joint: Share
    ttft_ms: Quantiles
    tpot_ms: Quantiles
    e2e_ms: Quantiles

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; ``low`` and ``high`` are the two-sided 95 % interval of attainment."""
        low, high = self.joint.interval() if self.joint.n else (None, None)
        return {
            "over": self.over,
            "up_to": self.up_to,
            "offered": self.offered,
            "attainment": self.joint.value,
            "low": low,
            "high": high,
            "n": self.joint.n,
            "effective_n": round(self.joint.effective_n, 1),
            "ttft_ms": self.ttft_ms.to_json(),
            "tpot_ms": self.tpot_ms.to_json(),
            "e2e_ms": self.e2e_ms.to_json(),
        }


def rows(
    samples: Sequence[Sample], slo: Slo | None, tallies: Tallies | None = None
) -> tuple[BandRow, ...]:
    """A row for each band in which something was offered, shortest first, unknown lengths last."""
    own = sorted({band.prompt_tokens_over for band in slo.bands} - {0}) if slo else []
    edges = [0, *(own or USUAL)]
    bounds: list[tuple[int | None, int | None]] = [*pairwise(edges), (edges[-1], None)]
    bounds.append((None, None))
    found = [(over, up_to, _inside(samples, over, up_to)) for over, up_to in bounds]
    tallies = tallies or Tallies(slo)
    return tuple(_row(over, up_to, rows, tallies) for over, up_to, rows in found if rows)


def _inside(samples: Sequence[Sample], over: int | None, up_to: int | None) -> list[Sample]:
    if over is None:
        return [sample for sample in samples if sample.prompt_tokens is None]
    return [
        sample
        for sample in samples
        if sample.prompt_tokens is not None
        and max(1, sample.prompt_tokens) > over
        and (up_to is None or sample.prompt_tokens <= up_to)
    ]


def _row(
    over: int | None, up_to: int | None, samples: Sequence[Sample], tallies: Tallies
) -> BandRow:
    good = [sample for sample in samples if sample.outcome.success]
    return BandRow(
        over=over,
        up_to=up_to,
        offered=len(samples),
        joint=tallies.of(samples).joint,
        ttft_ms=Quantiles.of([s.ttft for s in good if s.ttft is not None], scale=1e3),
        tpot_ms=Quantiles.of([s.tpot for s in good if s.tpot is not None], scale=1e3),
        e2e_ms=Quantiles.of([s.e2e for s in good if s.e2e is not None], scale=1e3),
    )
