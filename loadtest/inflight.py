"""A request on its way: what is known of it so far, and the sample it becomes in the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from engines.answer import Answer
from loadtest.schedule import Job
from measurement.outcome import Outcome, TokenSource
from measurement.sample import Attempt, Sample


@dataclass(slots=True, eq=False)
class Flight:
    """Times are seconds from the schedule's start."""

    job: Job
    handed_at: float | None = None
    admitted_at: float | None = None
    sent_at: float | None = None
    """Of the first attempt, which is the request's."""
    tried_at: float | None = None
    """Of the attempt that goes on: what its engine took is counted from here."""
    first_answer_at: float | None = None
    times: list[float] = field(default_factory=list)
    """When each chunk with tokens came, of the attempt that goes on."""
    counts: list[int] = field(default_factory=list)
    """How many tokens each brought."""
    attempts: list[Attempt] = field(default_factory=list)
    """Those that failed and were followed by another."""
    ending: Outcome | None = None
    """Set before the driver gives the request up, so that its sample says why."""

    def received(self, times: Sequence[float], counts: Sequence[int]) -> None:
        """Chunks with tokens came."""
        self.times += times
        self.counts += counts

    @property
    def chunks(self) -> int:
        """How many chunks with tokens came."""
        return len(self.times)

    def sent(self, at: float) -> bool:
        """An attempt went out; whether it was the first."""
        first = self.sent_at is None
        self.tried_at = at
        if first:
            self.sent_at = at
        return first

    def failed(self, attempt: Sample) -> None:
        """An attempt failed, and another will follow."""
        self.attempts.append(
            Attempt(
                attempt.outcome,
                attempt.sent_at,
                attempt.done_at,
                attempt.status,
                attempt.retry_after,
            )
        )
        self.times, self.counts, self.first_answer_at = [], [], None

    def whole(self, last: Sample) -> Sample:
        """The request's one sample: sent with its first attempt, answered by its ``last``."""
        if not self.attempts:
            return last
        return replace(last, sent_at=self.sent_at, attempts=tuple(self.attempts))

    def shed(self, at: float, error: str, retry_after: float | None) -> Sample:
        """The sample of a request that the policy itself refused."""
        return replace(self.given_up(Outcome.SHED, at), retry_after=retry_after, error=error)

    def given_up(self, outcome: Outcome, at: float) -> Sample:
        """The sample of a request that got no answer: only what was received counts."""
        times, counts = self.times, self.counts
        some = bool(times)
        told = any(tokens > 1 for tokens in counts[1:])  # one each may be a mere guess
        return Sample(
            index=self.job.index,
            tenant=self.job.shape.tenant,
            intended_at=self.job.intended_at,
            outcome=outcome,
            handed_at=self.handed_at,
            admitted_at=self.admitted_at,
            sent_at=self.sent_at,
            first_token_at=times[0] if some else None,
            first_answer_at=self.first_answer_at,
            last_token_at=times[-1] if some else None,
            done_at=at,
            output_tokens=sum(counts) if some else None,
            token_source=TokenSource.CHUNKS if some else None,
            first_chunk_tokens=counts[0] if some else None,
            chunks=self.chunks,
            gaps=_rounded([later - one for one, later in pairwise(times)]),
            gap_tokens=tuple(counts[1:]) if told else None,
            attempts=tuple(self.attempts),
        )

    def answered(self, answer: Answer, since: Callable[[float], float]) -> Sample:
        """The sample of a request that ran its course, well or badly."""

        def at(moment: float | None) -> float | None:
            return None if moment is None else round(since(moment), 7)

        return Sample(
            index=self.job.index,
            tenant=self.job.shape.tenant,
            intended_at=self.job.intended_at,
            outcome=answer.outcome,
            handed_at=self.handed_at,
            admitted_at=self.admitted_at,
            sent_at=at(answer.sent_at),
            first_token_at=at(answer.first_token_at),
            first_answer_at=at(answer.first_answer_at),
            last_token_at=at(answer.last_token_at),
            done_at=at(answer.done_at),
            prompt_tokens=answer.prompt_tokens,
            output_tokens=answer.output_tokens,
            token_source=answer.token_source,
            first_chunk_tokens=answer.first_chunk_tokens,
            chunks=answer.chunks,
            gaps=_rounded(answer.gaps),
            gap_tokens=answer.gap_tokens,
            status=answer.status,
            retry_after=answer.retry_after,
            error=answer.error,
        )


def _rounded(gaps: Sequence[float]) -> tuple[float, ...]:
    """To a tenth of a microsecond: what a clock tells, without a tail of digits."""
    return tuple(np.round(gaps, 7).tolist()) if gaps else ()
