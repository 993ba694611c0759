"""How long one engine step takes: six parameters, fitted to published load sweeps.

    T = t0 + hypot(t_w, t_c·N) + t_kv·K + t_s·B + t_a·A      (milliseconds)

Weights are read once and matrices multiplied for every token, whichever is longer dominates
(hypot); each decode reads its context, each sequence costs the host, each prefill pays for
its attention pairs. Sources and errors: docs/engine-model.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

from documents.fields import parameter


@dataclass(frozen=True, slots=True)
class StepCost:
    """The six parameters of a profile, in milliseconds per thing counted."""

    t0_ms: float = parameter(minimum=0.0, unit="ms", help="launch, sampling, host work per step")
    t_w_ms: float = parameter(minimum=0.0, unit="ms", help="weights read once per step")
    t_c_ms: float = parameter(minimum=0.0, unit="ms/token", help="matrix work per token")
    t_kv_ms: float = parameter(minimum=0.0, unit="ms/token", help="context read by decodes")
    t_s_ms: float = parameter(minimum=0.0, unit="ms/sequence", help="host work per sequence")
    t_a_ms: float = parameter(minimum=0.0, unit="ms/pair", help="prefill attention pair")

    def seconds(self, tokens: int, context: int, sequences: int, pairs: float) -> float:
        """The step's duration: N tokens (padded), K context tokens, B sequences, A pairs."""
        return 1e-3 * (
            self.t0_ms
            + math.hypot(self.t_w_ms, self.t_c_ms * tokens)
            + self.t_kv_ms * context
            + self.t_s_ms * sequences
            + self.t_a_ms * pairs
        )


class GraphSizes:
    """Captured CUDA graphs: a step of nothing but decodes runs as the next captured size.

    Sizes as vLLM captures them: 1, 2, 4, then by 8 below 256, then by 16 up to
    ``min(2 · max_seqs, 512)``. A bigger step runs as it is.
    """

    def __init__(self, max_seqs: int) -> None:
        top = min(2 * max_seqs, 512)
        wanted = [1, 2, 4, *range(8, 256, 8), *range(256, top + 1, 16)]
        self.sizes = tuple(size for size in wanted if size <= top)

    def padded(self, tokens: int) -> int:
        """The size that a pure-decode step of so many tokens runs as."""
        place = bisect_left(self.sizes, tokens)
        return self.sizes[place] if place < len(self.sizes) else tokens
