"""A request on its way through the model, and the sample it becomes."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from loadtest.schedule import Job
from measurement.outcome import Outcome, TokenSource
from measurement.sample import Attempt, Sample
from schedulers.runtime.limiter import Permit
from simulator.core.request import Sequence

_GRAIN = 7
"""Decimals of a second that a sample keeps, as in a load test."""


@dataclass(slots=True, eq=False)
class Flight:
    """Times are seconds from the schedule's start."""

    job: Job
    handed_at: float
    permit: Permit | None = None
    sent_at: float | None = None
    """Of the attempt that goes on."""
    sequence: Sequence | None = None
    first_sent_at: float | None = None
    """Of the first attempt, which is the request's."""
    attempts: list[Attempt] = field(default_factory=list)
    """Those that failed and were followed by another."""
    waited: float | None = None
    """Seconds before the attempt that goes on; None of the first."""
    waits: bool = False
    """It failed and will come again: it is neither at the door nor in the engine."""

    def sent(self, at: float) -> bool:
        """An attempt goes out; whether it is the first."""
        first = self.first_sent_at is None
        self.sent_at = at
        if first:
            self.first_sent_at = at
        return first

    def failed(self, attempt: Sample, wait: float) -> None:
        """An attempt failed, and another follows after so many seconds."""
        self.attempts.append(
            Attempt(
                attempt.outcome,
                attempt.sent_at,
                attempt.done_at,
                attempt.status,
                attempt.retry_after,
            )
        )
        self.permit = self.sent_at = self.sequence = None
        self.waited, self.waits = wait, True

    def whole(self, last: Sample) -> Sample:
        """The request's one sample: sent with its first attempt, ended by its ``last``."""
        if not self.attempts:
            return last
        return replace(last, sent_at=self.first_sent_at, attempts=tuple(self.attempts))

    def answered(self, ends: array[float]) -> Sample:
        """The sample of a request that the engine has answered whole."""
        assert self.sequence is not None  # noqa: S101 - it was sent
        times = self.sequence.token_times(ends)
        return self._sample(
            Outcome.TRUNCATED,
            round(times[-1], _GRAIN),
            times,
            prompt_tokens=self.sequence.request.prompt_tokens,
            token_source=TokenSource.USAGE,
            status=200,
        )

    def given_up(self, outcome: Outcome, at: float, ends: array[float]) -> Sample:
        """The sample of one that got no whole answer: what it had said by then counts."""
        times: list[float] = []
        if self.sequence is not None:
            times = self.sequence.token_times(ends)
            times = times[: bisect_right(times, at)]
        source = TokenSource.CHUNKS if times else None
        return self._sample(outcome, at, times, token_source=source)

    def refused(self, outcome: Outcome, status: int, error: str) -> Sample:
        """The sample of one that the engine did not take."""
        at = self.sent_at if self.sent_at is not None else self.handed_at
        return self._sample(outcome, at, [], status=status, error=error)

    def shed(self, at: float, error: str, retry_after: float | None) -> Sample:
        """The sample of one that the policy sent away."""
        return self._sample(Outcome.SHED, at, [], error=error, retry_after=retry_after)

    def _sample(self, outcome: Outcome, done_at: float, times: list[float], **more: Any) -> Sample:
        first = round(times[0], _GRAIN) if times else None
        return Sample(
            index=self.job.index,
            tenant=self.job.shape.tenant,
            intended_at=self.job.intended_at,
            outcome=outcome,
            handed_at=self.handed_at,
            admitted_at=self.first_sent_at,
            sent_at=self.sent_at,
            first_token_at=first,
            first_answer_at=first,
            last_token_at=round(times[-1], _GRAIN) if times else None,
            done_at=done_at,
            output_tokens=len(times) or None,
            first_chunk_tokens=1 if times else None,
            chunks=len(times),
            gaps=tuple(np.round(np.diff(times), _GRAIN).tolist()) if len(times) > 1 else (),
            **more,
        )
