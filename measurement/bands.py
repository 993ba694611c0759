"""The run by length of prompt: a row each for the SLO's own bands, or for usual ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from measurement.column_block import Block, Ints
from measurement.columns import SampleColumns
from measurement.judgements import Judgements
from measurement.latencies import OF_SUCCESSES
from measurement.parts_of_run import Parts
from measurement.proportion import Share
from measurement.quantiles import Quantiles

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


def rows(columns: SampleColumns, judgements: Judgements) -> tuple[BandRow, ...]:
    """A row for each band in which something was offered, shortest first, unknown lengths last.

    The columns are the end of those judged.
    """
    slo = judgements.slo
    own = sorted({band.prompt_tokens_over for band in slo.bands} - {0}) if slo else []
    edges = [0, *(own or USUAL)]
    bounds: list[tuple[int | None, int | None]] = [*pairwise(edges), (edges[-1], None)]
    bounds.append((None, None))
    parts = Parts.by(columns, judgements, lambda block: _band(block, edges))
    ttft, tpot, e2e = (
        parts.quantiles(OF_SUCCESSES[name]) for name in ("ttft_ms", "tpot_ms", "e2e_ms")
    )
    return tuple(
        BandRow(
            *bounds[code],
            offered=parts.offered[code],
            joint=parts.joint(code),
            ttft_ms=ttft[code],
            tpot_ms=tpot[code],
            e2e_ms=e2e[code],
        )
        for code in sorted(parts.offered)
    )


def _band(block: Block, edges: Sequence[int]) -> Ints:
    """The place of each among the bounds; a prompt of nothing is one of the shortest."""
    length = np.maximum(block.prompt_tokens, 1)
    place = np.searchsorted(edges, length, side="left") - 1
    return np.where(np.isnan(length), len(edges), place)
