"""A calibration: fit on some logs, test on another, and say what came of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from documents.problem import DocumentError, Problem
from loadtest.calibration.fitting import LEAST_REQUESTS, Log, fitted
from loadtest.calibration.judging import Error, errors, unidentified
from simulator.profile import Profile

EVALUATIONS = 600
WEAK = (
    "Tested on the other half of the requests that fitted, which shared one queue: a weak test. "
    "Give a log of another rate with --test."
)


@dataclass(frozen=True, slots=True)
class Calibration:
    """``before`` are the errors of the start, on the same requests as ``after``."""

    profile: Profile
    before: tuple[Error, ...]
    after: tuple[Error, ...]
    unidentified: tuple[str, ...]
    """Parameters that the logs don't tell: only their sum with others can be relied on."""
    weak: bool

    @property
    def light(self) -> str:
        """The worst light."""
        lights = {error.light for error in self.after}
        return next(light for light in ("red", "amber", "green") if light in lights)


def calibrate(
    start: Profile, logs: Sequence[Log], test: Log | None, *, evaluations: int = EVALUATIONS
) -> Calibration:
    """Fit the start to the logs. Without a test log, one log's other half is what it is tested on.

    The same logs give the same profile.
    """
    _enough("log", sum(len(log.trace) for log in logs))
    _enough("test", LEAST_REQUESTS if test is None else len(test.trace))
    seen = list(logs) if test is not None else [Log.halved(log.name, log.trace) for log in logs]
    profile = fitted(start, seen, evaluations=evaluations)
    held = test if test is not None else seen[0]
    kept = [True] * len(held.trace) if test is not None else [not each for each in held.fitted]
    before, after = (tuple(errors(each, held, kept)) for each in (start, profile))
    unknown = tuple(unidentified(profile, seen))
    weak = test is None
    told = dataclasses.replace(
        profile,
        source=_source(seen, held, weak=weak),
        error=_error(after, unknown, weak=weak),
        mean_error_percent=round(100 * _mean_tpot(after), 1),
    )
    return Calibration(told, before, after, unknown, weak)


def _enough(path: str, requests: int) -> None:
    if requests < LEAST_REQUESTS:
        message = f"must hold at least {LEAST_REQUESTS} requests together, for percentiles to mean"
        raise DocumentError([Problem(path, requests, f"{message} anything")])


def document(profile: Profile) -> str:
    """The profile as its YAML file."""
    fields = {key: value for key, value in dataclasses.asdict(profile).items() if value is not None}
    text: str = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=96)
    return text


def _mean_tpot(after: Sequence[Error]) -> float:
    return next(
        error.share for error in after if (error.metric, error.statistic) == ("TPOT", "mean")
    )


def _source(logs: Sequence[Log], held: Log, *, weak: bool) -> str:
    used = ", ".join(f"{log.name} ({sum(log.fitted)} requests)" for log in logs)
    tested = "the other requests of it" if weak else f"{held.name} ({len(held.trace)} requests)"
    return f"Calibrated on {used}; tested on {tested}. Memory and limits as given, not fitted."


def _error(after: Sequence[Error], unknown: Sequence[str], *, weak: bool) -> str:
    parts = ", ".join(
        f"{error.statistic} {error.metric} {100 * error.share:.1f} %" for error in after
    )
    told = f" Not told by the logs: {', '.join(unknown)}." if unknown else ""
    return f"On the test: {parts}.{told}{' ' + WEAK if weak else ''}"
