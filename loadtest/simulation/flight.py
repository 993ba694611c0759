"""A request on its way through the model, and the sample it becomes."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadtest.schedule import Job
from measurement.outcome import Outcome, TokenSource
from measurement.sample import Sample
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
    sequence: Sequence | None = None

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

    def shed(self, at: float, error: str, retry_after: float) -> Sample:
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
            admitted_at=self.sent_at,
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
