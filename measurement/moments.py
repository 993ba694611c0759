"""First and second moments of what was asked and how it was served: what queueing formulas take.

Of successes alone, from the send: a policy's hold is no work of the engine's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from measurement.sample import Sample


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
    def of(cls, samples: Sequence[Sample]) -> Self:
        """Of the successes among the samples."""
        good = [sample for sample in samples if sample.outcome.success]
        told = [
            (s.prompt_tokens, s.output_tokens)
            for s in good
            if s.prompt_tokens is not None and s.output_tokens is not None
        ]
        prompt = np.array([pair[0] for pair in told], dtype=np.float64)
        output = np.array([pair[1] for pair in told], dtype=np.float64)
        times = np.array([s.service_e2e for s in good if s.service_e2e is not None])
        firsts = np.array([s.service_ttft for s in good if s.service_ttft is not None])
        return cls(
            n=len(good),
            prompt=_mean(prompt),
            prompt_square=_mean(prompt**2),
            output=_mean(output),
            output_square=_mean(output**2),
            product=_mean(prompt * output),
            e2e=_mean(times),
            e2e_square=_mean(times**2),
            ttft=_mean(firsts),
            step=_step(good),
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


def _step(samples: Sequence[Sample]) -> float | None:
    """Long answers count by their tokens, as they do in the engine's steps."""
    spans = [
        (s.last_token_at - s.first_token_at, s.output_tokens - s.first_chunk_tokens)
        for s in samples
        if s.tpot is not None
        and s.first_token_at is not None
        and s.last_token_at is not None
        and s.output_tokens is not None
        and s.first_chunk_tokens is not None
    ]
    tokens = sum(span[1] for span in spans)
    return sum(span[0] for span in spans) / tokens if tokens else None
