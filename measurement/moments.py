"""First and second moments of what was asked and how it was served: what queueing formulas take.

Of successes alone, from the send: a policy's hold is no work of the engine's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np

from measurement.column_block import Block, Bools
from measurement.columns import SampleColumns


@dataclass(frozen=True, slots=True)
class Moments:
    """Means per request; lengths in tokens, times in seconds. Null where no request tells."""

    n: int
    prompt: float | None
    prompt_square: float | None
    output: float | None
    output_square: float | None
    product: float | None
    """Mean of prompt × output."""
    e2e: float | None
    e2e_square: float | None
    ttft: float | None
    step: float | None
    """Seconds per output token after the first chunk, over all tokens: a decode step's length."""

    @classmethod
    def of(cls, columns: SampleColumns) -> Self:
        """Of the successes among the requests."""
        prompt = columns.known(lambda b: np.where(_told(b), b.prompt_tokens, np.nan))
        output = columns.known(lambda b: np.where(_told(b), b.output_tokens, np.nan))
        lengths = {
            "prompt": _mean(prompt),
            "prompt_square": _mean(prompt**2),
            "output": _mean(output),
            "output_square": _mean(output**2),
            "product": _mean(prompt * output),
        }
        del prompt, output  # so that no more columns are held than one asks for
        times = columns.known(lambda b: b.service_e2e)
        e2e, e2e_square = _mean(times), _mean(times**2)
        firsts = columns.known(lambda b: np.where(b.success, b.service_ttft, np.nan))
        return cls(
            n=columns.count(lambda b: b.success),
            **lengths,
            e2e=e2e,
            e2e_square=e2e_square,
            ttft=_mean(firsts),
            step=_step(columns),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "n": self.n,
            "prompt": self.prompt,
            "prompt_square": self.prompt_square,
            "output": self.output,
            "output_square": self.output_square,
            "product": self.product,
            "e2e_s": self.e2e,
            "e2e_square": self.e2e_square,
            "ttft_s": self.ttft,
            "step_s": self.step,
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """What ``to_json`` gave."""
        names = {"e2e_s": "e2e", "ttft_s": "ttft", "step_s": "step"}
        return cls(**{names.get(name, name): value for name, value in given.items()})


def _mean(values: np.ndarray[Any, np.dtype[np.float64]]) -> float | None:
    return float(values.mean()) if len(values) else None


def _told(block: Block) -> Bools:
    """Successes of which both lengths are known."""
    return block.success & ~np.isnan(block.prompt_tokens) & ~np.isnan(block.output_tokens)


def _step(columns: SampleColumns) -> float | None:
    """Long answers count by their tokens, as they do in the engine's steps."""
    tokens = columns.count(lambda b: (b.output_tokens - b.first_chunk_tokens)[_paced(b)])
    spans = ((b.last_token_at - b.first_token_at)[_paced(b)] for b in columns.blocks())
    return sum(chain.from_iterable(span.tolist() for span in spans)) / tokens if tokens else None


def _paced(block: Block) -> Bools:
    return block.success & ~np.isnan(block.tpot)
