"""Gathering: what each observation adds to the cohorts of ``adaptive_bdp``, and when one is whole.

Waits for the first token are weighed against the time that answers take. By Little's law the share
of requests in flight that wait for their first token beyond what it takes without a queue is
(TTFT − its baseline) / e2e. So TTFT is followed as TTFT + rest, with the rest of a request, from
first token to end, as a constant: the least median of a cohort so far. A relative rise of that sum
*is* the share in the queue, however short the first token; and output lengths play no part.
"""

from __future__ import annotations

import math

from schedulers.adaptive import startup
from schedulers.adaptive.longer import longer
from schedulers.adaptive.pace import FEWEST
from schedulers.concurrency.adaptive_bdp.state import AdaptiveState
from schedulers.concurrency.adaptive_bdp.tuning import Tuning
from schedulers.concurrency.base import Observation, OutcomeKind

REACHED = 0.9
"""With less than this share of the limit in flight it is not what limits."""


def gathered(
    tuning: Tuning, state: AdaptiveState, seen: Observation, now: float, latency: float
) -> AdaptiveState:
    """One more answer, or its beginning; the cohort is closed once it is whole."""
    granted = state.granted(seen)
    streamed = tuning.signal == "ttft" and (seen.ttft is not None or seen.told)
    state = _learned(tuning, state, seen, now, latency, streamed=streamed)
    if state.cohort.closed is None and _whole(tuning, state, state.cohort.size(granted), now):
        state = state._replace(cohort=state.cohort.close(granted, now))
    if streamed:
        state = _weighed(state, granted, now, _fewest(tuning, state))
    return state


def _learned(
    tuning: Tuning,
    state: AdaptiveState,
    seen: Observation,
    now: float,
    latency: float,
    *,
    streamed: bool,
) -> AdaptiveState:
    """What one observation says of itself, in the cohorts that it is a member of."""
    begun = seen.kind is OutcomeKind.FIRST_TOKEN
    rtt, answers = state.rtt, state.answers
    if not begun:
        rest = _rest(seen, latency) if streamed else 0.0
        whole = latency + rest
        rtt = whole if rtt is None else rtt + 0.1 * (min(whole, 2 * rtt) - rtt)
        if streamed:
            enough = FEWEST if state.course.startup else tuning.cohort
            answers = answers.ended(seen, rest, seen.output_tokens, now, enough)
    if streamed and seen.told:
        cohort = state.cohort.with_peak(seen.in_flight)
    else:
        value = math.log(latency + (answers.rest if streamed else 0.0))
        cohort = state.cohort.with_answer(seen, value, streamed=streamed and not begun)
    return AdaptiveState(
        state.limit,
        cohort,
        state.course,
        state.baseline,
        rtt,
        now,
        state.ended + (not begun),
        state.cut_at,
        answers,
        state.live or begun,
        seen.started_at if state.began_at is None else state.began_at,
    )


def _rest(seen: Observation, ttft: float) -> float:
    """Seconds from first token to end, where the observation tells."""
    whole = seen.latency
    if whole is None or not math.isfinite(whole):
        return 0.0
    return max(0.0, whole - ttft)


def _fewest(tuning: Tuning, state: AdaptiveState) -> int:
    """Requests that a cohort takes: fewer where the limit is smaller."""
    usual = 16 if state.course.startup else int(state.limit)
    return min(tuning.cohort, max(10, usual))


def _whole(tuning: Tuning, state: AdaptiveState, size: int, now: float) -> bool:
    """A cohort takes 0.6 round trips and its number of requests, or two round trips.

    In start-up of streamed answers it takes some first tokens.
    """
    if state.starting:
        reached = state.cohort.peak >= REACHED * int(state.limit)
        return startup.enough(size, state.limit, tuning.cohort, reached=reached)
    if state.rtt is None:
        return False
    trips = (now - state.cohort.opened) / state.rtt
    return trips >= 0.6 and (size >= _fewest(tuning, state) or (trips >= 2.0 and size >= 8))


def _weighed(state: AdaptiveState, granted: int, now: float, size: int) -> AdaptiveState:
    """Where a lower rest is found, all that is known is told anew by it."""
    answers = state.answers.judged(granted, now, size)
    if answers is state.answers:
        return state
    change = answers.rest - state.answers.rest
    if change == 0.0:
        return state._replace(answers=answers)
    return state._replace(
        answers=answers,
        cohort=state.cohort._replace(values=longer(state.cohort.values, change)),
        baseline=state.baseline.retold(change),
        course=state.course.retold(change),
    )
