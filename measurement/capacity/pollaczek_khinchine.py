"""Pollaczek–Khinchine: the mean wait before one server, from two measured moments of its work.

    W_q = λ E[S²] / 2(1 − ρ),   ρ = λ E[S]

With c servers the wait is that of M/M/c times (1 + cv²)/2 (Lee and Longton 1959), exact for c = 1
and an approximation beyond. Of a batching engine S is the time that a request adds to the
engine's steps (``marginal_work``), not how long it stays: those overlap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from measurement.capacity.batching import Steps
from measurement.capacity.estimate import Estimate
from measurement.moments import Moments

ASSUMES = (
    "Poisson arrivals",
    "first come, first served, with room for all who wait",
    "service times that depend neither on each other nor on the load",
)


@dataclass(frozen=True, slots=True)
class Work:
    """Seconds of service that a request needs: E[S] and E[S²]."""

    mean: float
    square: float

    @property
    def cv_square(self) -> float:
        """Squared coefficient of variation."""
        return self.square / self.mean**2 - 1


def wait(rate: float, work: Work, *, servers: int = 1) -> float:
    """Mean seconds before service begins; infinite at or over saturation."""
    load = rate * work.mean / servers
    if load >= 1:
        return math.inf
    busy = _erlang_c(rate * work.mean, servers)
    return (1 + work.cv_square) / 2 * busy * work.mean / (servers * (1 - load))


def estimate(
    rate: float, work: Work, *, servers: int = 1, measured: float | None = None
) -> Estimate:
    """The mean wait at that load, against a measured one."""
    found = wait(rate, work, servers=servers)
    saturated = math.isinf(found)
    approximate = ("several servers by Lee and Longton's factor",) if servers > 1 else ()
    return Estimate(
        method="Pollaczek–Khinchine",
        what="mean seconds of waiting",
        value=None if saturated else found,
        assumes=(*ASSUMES, *approximate),
        measured=measured,
        note="at or over saturation: the wait has no mean" if saturated else "",
    )


def marginal_work(moments: Moments, steps: Steps) -> Work | None:
    """What a request adds to the engine's steps: I·t_p + O·t1. None where lengths are unknown."""
    first = (moments.prompt, moments.output)
    second = (moments.prompt_square, moments.product, moments.output_square)
    if None in first or None in second:
        return None
    prompt, output = (value or 0.0 for value in first)
    prompts, product, outputs = (value or 0.0 for value in second)
    tp, t1 = steps.per_prompt_token, steps.per_sequence
    mean = prompt * tp + output * t1
    if mean <= 0:
        return None
    return Work(mean, prompts * tp**2 + 2 * product * tp * t1 + outputs * t1**2)


def _erlang_c(offered: float, servers: int) -> float:
    """The chance that an arrival waits in M/M/c, by the stable recursion of Erlang's B."""
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = offered * blocked / (k + offered * blocked)
    return servers * blocked / (servers - offered * (1 - blocked))
