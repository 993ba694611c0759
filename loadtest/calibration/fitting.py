"""The parameters of a step's time, fitted to logs: replay the load, compare, and try again."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from documents.problem import DocumentError, Problem
from loadtest.calibration.simplex import Vector, minimise
from loadtest.traces.base import Traced
from loadtest.traces.fidelity import latencies, load_of
from simulator.profile import Profile
from simulator.virtual import replay

PARAMETERS = ("t0_ms", "t_w_ms", "t_c_ms", "t_kv_ms", "t_s_ms", "t_a_ms", "ingest_ms")
LEAST_IN_A_LOG = 5
LEAST_REQUESTS = 20
"""Of all logs that are fitted to together, and of the one that is tested on."""
RIDGE = 0.02
"""How strongly what the logs don't tell is held at the start; per squared log of the ratio."""
_WEIGHTS = {"TTFT": 0.5, "TPOT": 1.0, "E2E": 1.0}
_STEP = 0.3


@dataclass(frozen=True, slots=True)
class Log:
    """What an engine did at one rate. ``fitted`` marks the requests that the fit may see."""

    name: str
    trace: tuple[Traced, ...]
    fitted: tuple[bool, ...]

    @classmethod
    def whole(cls, name: str, trace: Sequence[Traced]) -> Log:
        """A log of which the fit may see everything."""
        return cls(name, checked(name, trace), (True,) * len(trace))

    @classmethod
    def halved(cls, name: str, trace: Sequence[Traced]) -> Log:
        """A log of which the fit may see every other request."""
        seen = tuple(place % 2 == 0 for place in range(len(trace)))
        return cls(name, checked(name, trace), seen)


def checked(name: str, trace: Sequence[Traced]) -> tuple[Traced, ...]:
    """The trace, if it says what the engine did with enough requests."""
    measured = sum(each.measured is not None for each in trace)
    if measured < LEAST_IN_A_LOG:
        message = f"must hold at least {LEAST_IN_A_LOG} requests with measured times: {measured} do"
        raise DocumentError([Problem("log", name, message)])
    return tuple(trace)


def fitted(start: Profile, logs: Sequence[Log], *, evaluations: int) -> Profile:
    """The profile whose replay is nearest to the logs, from a start that physics suggests."""
    names = [name for name in PARAMETERS if getattr(start, name) > 0]
    origin = np.zeros(len(names))

    def loss(point: Vector) -> float:
        if np.abs(point).max() > math.log(50):
            return 1e9
        return misfit(moved(start, names, point), logs) + RIDGE * float(point @ point)

    best, _ = minimise(loss, origin, step=_STEP, evaluations=evaluations)
    return moved(start, names, best)


def moved(start: Profile, names: Sequence[str], point: Vector) -> Profile:
    """The start with its parameters times e to the point's coordinates."""
    values: dict[str, Any] = {
        name: float(f"{getattr(start, name) * math.exp(by):.4g}")
        for name, by in zip(names, point.tolist(), strict=True)
    }
    return dataclasses.replace(start, **values)


def misfit(profile: Profile, logs: Sequence[Log]) -> float:
    """Mean distance of the logarithms, of what the fit may see."""
    total = 0.0
    for log in logs:
        for name, real, ours in compared(profile, log, log.fitted):
            ratio = np.maximum(ours, 1e-6) / np.maximum(real, 1e-6)
            total += _WEIGHTS[name] * float(np.mean(np.abs(np.log(ratio))))
    return total / len(logs)


def compared(
    profile: Profile, log: Log, kept: Sequence[bool]
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """TTFT, TPOT and E2E in seconds, real and modelled, of the requests that are kept."""
    served = replay(load_of(list(log.trace)), profile)
    chosen = [place for place, keep in enumerate(kept) if keep]
    return list(latencies([log.trace[place] for place in chosen], [served[p] for p in chosen]))
