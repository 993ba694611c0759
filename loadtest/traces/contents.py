"""A traced request's tokens, as the engine model's prefix cache sees them."""

from __future__ import annotations

from collections.abc import Hashable

from loadtest.traces.base import Traced
from simulator.core.content import Runs


def content_of(traced: Traced, index: int) -> Runs | None:
    """None where the trace says nothing of prefixes: a prompt that shares nothing."""
    if traced.prefix_ids is None:
        return None
    left, runs = traced.prompt_tokens, list[tuple[Hashable, int]]()
    for name in traced.prefix_ids:
        part = min(left, traced.prefix_size)
        if part > 0:
            runs.append((name, part))
        left -= part
    if left > 0:  # more tokens than the named pieces hold
        runs.append((("rest", index), left))
    runs.append((("answer", index), traced.output_tokens))
    return Runs(tuple(runs))
