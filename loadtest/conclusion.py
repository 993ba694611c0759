"""What a run came to: summary, validity and verdict, from its samples and what the client saw.

The same arithmetic serves a run that ended, one that was stopped, and one whose process was
killed and whose files were read afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engines.transport.kernel_clock import ReceiveLag
from loadtest.arrivals.base import OpenLoop
from loadtest.facts import Facts, schedule_of
from loadtest.outline import Outline
from loadtest.scenario import Scenario
from loadtest.silence import LEAST, Late, explained, long_ones, silences
from loadtest.throttling import Throttled
from measurement.columns import First, SampleColumns
from measurement.doubted import NOTHING, Doubted, Stall
from measurement.histogram import Histogram
from measurement.objective_verdict import INVALID
from measurement.outcome import Outcome
from measurement.slo import Slo
from measurement.steady import Steady, detect
from measurement.stimulus import Expected
from measurement.summary import Summary, summarise
from measurement.validity import Validity, check
from measurement.verdict import EXIT_CODES, Verdict, judge
from schedulers.runtime.shadow import ShadowReport

AUTO = "auto"
FINISHED, CANCELLED, LOST = "finished", "cancelled", "lost"


@dataclass(frozen=True, slots=True)
class Carried:
    """The transport that carried the run, and how it did."""

    transport: str
    connections: int
    receive: ReceiveLag | None = None
    """How late bytes were read; None where no kernel stamped them."""
    proxy: str | None = None
    """What every request went through."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the client itself noticed. None and empty where nobody was left to tell."""

    windows: Sequence[Outline]
    stopped_at: float
    """Seconds after the start at which it stopped offering; past the duration when it ran out."""
    launched: int | None = None
    """Requests of a closed loop that its slots began."""
    loop_lag: Histogram | None = None
    doubted_gaps: Doubted = NOTHING
    """Longest gaps that may be the client's own, and"""
    doubted_firsts: Doubted = NOTHING
    """first tokens that may be late for its own cause."""
    stalls: tuple[Stall, ...] = ()
    """When the client stood still for half a second or more: seconds from the start."""
    throttled: Throttled | None = None
    """How often a CPU limit held the client back; None where nobody counts."""
    cpu_share: float | None = None
    """CPU seconds of the process over elapsed seconds."""
    carried: Carried | None = None
    policy: Mapping[str, Any] = field(default_factory=dict)
    signals: Mapping[str, Any] = field(default_factory=dict)
    shadow: ShadowReport | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    """What stood in for the engine, and how far off it is; empty where a real one answered."""
    workers: tuple[Mapping[str, Any], ...] = ()
    """Of several processes: what each one noticed of itself."""
    lost: tuple[str, ...] = ()
    """Sentences on those that did not report, and on clocks that are not known well enough."""
    due: int | None = None
    """What the schedule held by the time that each of several processes stopped."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    scenario: Scenario
    facts: Facts
    status: str
    summary: Summary
    validity: Validity
    verdict: Verdict
    seen: Seen
    notes: tuple[str, ...]
    """Sentences that a reader must not miss."""
    first_errors: Mapping[str, str] = field(default_factory=dict)
    """By outcome, what the first such failure was answered with."""
    retried: Mapping[str, int] = field(default_factory=dict)
    """How many requests were tried again, and how many attempts failed before their last."""

    @property
    def silent(self) -> bool:
        """Whether not one request of the judged part succeeded, be it that there was none."""
        return not any(outcome.success for outcome in self.summary.steady.outcomes)

    @property
    def exit_code(self) -> int:
        """What a command that ran this exits with."""
        if self.status == CANCELLED:
            return EXIT_CODES["cancelled"]
        if self.status == LOST or (self.silent and self._without_reason):
            return EXIT_CODES["infrastructure"]
        return self.verdict.exit_code

    @property
    def _without_reason(self) -> bool:
        """Whether neither an objective nor the stimulus's validity decided the verdict."""
        return self.scenario.slo is None and self.verdict.outcome != INVALID


def conclude(
    columns: SampleColumns, scenario: Scenario, facts: Facts, seen: Seen, status: str
) -> Conclusion:
    """Judge a run by its samples."""
    duration = min(scenario.duration_s, seen.stopped_at)
    closed = not isinstance(scenario.arrivals, OpenLoop)
    steady = detect(columns, duration=duration, closed_loop=closed)
    automatic = scenario.warm_up == AUTO
    found = steady.cut if automatic else None
    warm_up = min(max(scenario.warm_up_s, found or 0.0), duration)
    validity = check(
        columns,
        duration=duration,
        scheduled=_due(scenario, facts, seen) if seen.due is None else seen.due,
        loop_lag=seen.loop_lag,
        receive_lag=_receive_lag(seen),
        ttft_target=ttft_target(scenario.slo),
        expected=_expected(scenario, facts),
    ).worsened(seen.lost)
    validity = _doubted(validity, scenario, seen)
    validity = _explained(validity, columns, seen)
    summary = summarise(
        columns,
        slo=scenario.slo,
        duration=duration,
        warm_up=warm_up,
        counted_in_flight=_mean_in_flight(seen.windows, warm_up, duration),
        weights={name: tenant.weight for name, tenant in scenario.tenants.items()} or None,
    )
    summary = replace(summary, detected=steady, automatic=automatic)
    verdict = judge(summary.tally, scenario.slo, validity)
    return Conclusion(
        scenario,
        facts,
        status,
        summary,
        validity,
        verdict,
        seen,
        (
            *_labels(seen),
            *_retried_by(scenario),
            *_notes(columns, status, steady if automatic else None),
            *seen.lost,
        ),
        {str(outcome): first.error for outcome, first in _firsts(columns)},
        {
            "requests": columns.count(lambda block: block.attempts > 0),
            "failed_attempts": columns.count(lambda block: block.attempts),
        },
    )


def _doubted(validity: Validity, scenario: Scenario, seen: Seen) -> Validity:
    """First tokens that may be late for the client's own cause make it invalid; so do longest gaps
    where they are judged, and elsewhere they are told."""
    late = seen.doubted_firsts.sentence("first token", "late")
    long = seen.doubted_gaps.sentence("longest gap", "long")
    judged = scenario.slo.objectives if scenario.slo is not None else ()
    reasons = [late] if late is not None else []
    if long is not None and any(objective.metric == "longest_gap_ms" for objective in judged):
        reasons.append(long)
    elif long is not None:
        validity = validity.warned([long])
    return validity.worsened(reasons, late=True)


def _explained(validity: Validity, columns: SampleColumns, seen: Seen) -> Validity:
    """What made the client late comes first: a limit on its CPU, or the burst of an engine that
    goes on. Where it was not late, both are told all the same."""
    held = seen.throttled.sentence() if seen.throttled is not None else None
    causes = [held] if held is not None else []
    quiet = list(silences(seen.windows, seen.stalls))
    if validity.late:
        late = Late.of(columns)
        numbers = {**validity.numbers, "late_windows": late.windows()}
        validity = replace(validity, numbers=numbers)
        told = [explained(one, late) for one in quiet if one.length >= LEAST]
        if found := [sentence for sentence in told if sentence]:
            return validity.worsened([*found, *causes])
        return validity.worsened(causes).warned([*long_ones(quiet)])
    return validity.warned([*long_ones(quiet), *causes])


def _due(scenario: Scenario, facts: Facts, seen: Seen) -> int | None:
    """How many requests the schedule held by the time it was stopped, counted anew from it."""
    schedule = schedule_of(scenario, facts)
    if schedule.closed_loop:
        return seen.launched
    mine = schedule.instants[facts.slice_number :: facts.slice_of]
    return int(np.searchsorted(mine, seen.stopped_at, side="right"))


def _receive_lag(seen: Seen) -> Histogram | None:
    """From the kernel's stamps, where nearly every read had one."""
    receive = seen.carried.receive if seen.carried is not None else None
    if receive is None or receive.unstamped > receive.lag.count:
        return None
    return receive.lag


def ttft_target(slo: Slo | None) -> float | None:
    """The tightest TTFT objective, in seconds."""
    if slo is None:
        return None
    found = [item.max for item in slo.objectives if item.metric == "ttft_ms"]
    return min(found) / 1e3 if found else None


def _expected(scenario: Scenario, facts: Facts) -> Expected | None:
    """What the gaps should look like; one slice of several promises nothing by itself."""
    process = scenario.arrivals
    if not isinstance(process, OpenLoop) or facts.slice_of > 1:
        return None
    duration = scenario.duration_s
    return Expected(
        cv=process.cv(),
        dispersion=process.dispersion(),
        evened=lambda at: process.evened(at, duration),
    )


def _mean_in_flight(windows: Sequence[Outline], start: float, end: float) -> float | None:
    """The driver's own time-weighted count over whole windows of the steady part."""
    inside = [w for w in windows if w.start >= start and w.end <= end]
    span = sum(window.in_flight_span_us for window in inside)
    # A part that ends between two windows would be compared with another stretch of time.
    whole = math.isclose(span / 1e6, end - start, abs_tol=1e-3)
    return sum(window.in_flight_us for window in inside) / span if span and whole else None


def _firsts(columns: SampleColumns) -> list[tuple[Outcome, First]]:
    """The first failure of each kind, in order of the schedule."""
    return sorted(columns.firsts.items(), key=lambda item: item[1].index)


def _labels(seen: Seen) -> tuple[str, ...]:
    """What the numbers are, where they are no measurement."""
    label = seen.model.get("label")
    return (label,) if label else ()


def _retried_by(scenario: Scenario) -> tuple[str, ...]:
    """Two answers to who tries again would multiply attempts, so only one of them acts."""
    law = scenario.policy.law("retry") if scenario.policy else None
    if law is None or scenario.retries is None:
        return ()
    acted = f"The policy's retry law ({law.name}) said what was sent again"
    return (f"{acted}; the scenario's own retries did not act.",)


def _notes(columns: SampleColumns, status: str, steady: Steady | None) -> tuple[str, ...]:
    notes = []
    if steady is not None and steady.cut is None and len(columns):
        told = f"Nothing was cut by itself: {steady.because}."
        notes.append(f"{told} These numbers are the whole run's.")
    if status == LOST:
        notes.append("The run's process was lost; this is what it had until then.")
    if not len(columns):
        notes.append("No request was offered.")
    elif not columns.count(lambda block: block.success):
        outcome, first = _firsts(columns)[0]
        why = f": {first.error}" if first.error else ""
        notes.append(
            f"No request succeeded: not one of {len(columns):,}. The first ended as {outcome}{why}"
        )
    return tuple(notes)
