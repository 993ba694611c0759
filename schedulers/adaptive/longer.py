"""Logarithms of latencies, told anew where each latency is longer by so many seconds."""

from __future__ import annotations

import math


def longer(values: tuple[float, ...], seconds: float) -> tuple[float, ...]:
    """ln(exp(v) + seconds) of each; what would be nothing or less becomes a microsecond."""
    return tuple(math.log(max(1e-6, math.exp(value) + seconds)) for value in values)
