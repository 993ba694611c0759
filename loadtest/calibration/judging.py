"""How good a fit is where it wasn't fitted, and what the logs could not tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from loadtest.calibration.fitting import Log, compared
from loadtest.traces.fidelity import load_of
from simulator.core.step import Step
from simulator.profile import Profile
from simulator.virtual import replay

GREEN, AMBER = 0.05, 0.15
_STATISTICS = ("mean", "P90", "P99")
_NOISE = 0.05
"""What a single step's time may differ from any equation, as a share."""
_TOLD = 0.25
"""The logs tell a parameter if, with that noise, it is known to within a quarter."""


@dataclass(frozen=True, slots=True)
class Error:
    """One statistic of one metric: seconds measured and modelled."""

    metric: str
    statistic: str
    real: float
    model: float

    @property
    def share(self) -> float:
        """The error as a share of what was measured."""
        return abs(self.model / self.real - 1)

    @property
    def light(self) -> str:
        """green, amber or red."""
        return "green" if self.share <= GREEN else "amber" if self.share <= AMBER else "red"


def errors(profile: Profile, log: Log, kept: Sequence[bool]) -> Iterator[Error]:
    """Mean, P90 and P99 of TTFT, TPOT and E2E over the requests that are kept."""
    for metric, real, ours in compared(profile, log, kept):
        for statistic in _STATISTICS:
            yield Error(metric, statistic, _of(statistic, real), _of(statistic, ours))


def unidentified(profile: Profile, logs: Sequence[Log]) -> list[str]:
    """Parameters that these logs can't tell from the others, or not at all.

    In the steps that the engine took: how much of what a parameter adds to their times could not be
    made up by changing the others. That against the noise of the steps is its standard error.
    """
    names, slopes = _slopes(profile, logs)
    found = []
    for place, name in enumerate(names):
        others = np.delete(slopes, place, axis=0).T
        imitated, *_ = np.linalg.lstsq(others, slopes[place], rcond=None)
        left = slopes[place] - others @ imitated
        if float(np.linalg.norm(left)) * _TOLD < _NOISE:
            found.append(name)
    if profile.ingest_ms > 0 and profile.ingest_ms < _NOISE * 1e3 * _median_ttft(logs):
        found.append("ingest_ms")
    return found


def _slopes(profile: Profile, logs: Sequence[Log]) -> tuple[list[str], np.ndarray]:
    """∂ ln(step time) / ∂ ln(parameter), a row for each parameter, a column for each step."""
    steps: list[Step] = []
    for log in logs:
        replay(load_of(list(log.trace)), profile, on_step=steps.append)
    tokens, context, sequences, pairs = (
        np.array([getattr(step, name) for step in steps], dtype=float)
        for name in ("tokens", "context", "sequences", "pairs")
    )
    work = profile.t_c_ms * tokens
    both = np.hypot(profile.t_w_ms, work)
    terms = {
        "t0_ms": np.full(len(steps), profile.t0_ms),
        "t_w_ms": profile.t_w_ms**2 / both,
        "t_c_ms": work**2 / both,
        "t_kv_ms": profile.t_kv_ms * context,
        "t_s_ms": profile.t_s_ms * sequences,
        "t_a_ms": profile.t_a_ms * pairs,
    }
    names = [name for name in terms if getattr(profile, name) > 0]
    duration = profile.t0_ms + both + terms["t_kv_ms"] + terms["t_s_ms"] + terms["t_a_ms"]
    return names, np.array([terms[name] / duration for name in names])


def _median_ttft(logs: Sequence[Log]) -> float:
    found = [each.measured.ttft for log in logs for each in log.trace if each.measured is not None]
    return float(np.median(found))


def _of(statistic: str, values: np.ndarray) -> float:
    if statistic == "mean":
        return float(np.mean(values))
    return float(np.quantile(values, int(statistic[1:]) / 100))
