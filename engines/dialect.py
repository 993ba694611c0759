"""A dialect: which fields beyond the common ones a kind of engine understands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a request body for this kind may hold. The default is what every server takes."""

    include_usage: bool = True
    """``stream_options.include_usage``: the exact token count at the end of a stream."""
    continuous_usage: bool = False
    """``stream_options.continuous_usage_stats``: the count so far on each chunk."""
    ignore_eos: bool = False
    min_tokens: bool = False
