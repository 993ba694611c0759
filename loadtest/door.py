"""What a load test's policy holds requests back by: its limiter alone, or a queue before it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from loadtest.roster import Roster
from loadtest.schedule import Job
from measurement.sample import Sample
from schedulers.concurrency.base import OutcomeKind
from schedulers.runtime.admission import AdmissionQueue, Shed, Ticket
from schedulers.runtime.limiter import Limiter, Permit


class Door(Protocol):
    """Each entry is handed back once, by ``leave``."""

    def enter_now(self) -> Any:
        """Enter for the first time, where that takes no waiting and nothing else is to be said of a
        request; None: ask ``enter``."""
        ...

    async def enter(self, job: Job, attempt: int) -> Any:
        """Wait for a turn; Shed where the policy refuses it."""
        ...

    def first_token(self, entry: Any, ttft: float) -> None:
        """Its answer has begun, so many seconds after it was sent."""
        ...

    def leave(self, entry: Any, kind: OutcomeKind, sample: Sample | None) -> None:
        """The attempt is over, as its sample says; None where it was given up."""
        ...


class LimiterDoor:
    """A policy with a law for concurrency, and for neither admission nor ordering."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    def enter_now(self) -> Permit | None:
        return self._limiter.try_acquire()

    async def enter(self, job: Job, attempt: int) -> Permit:  # noqa: ARG002 - all are alike here
        return await self._limiter.acquire()

    def first_token(self, entry: Permit, ttft: float) -> None:
        self._limiter.first_token(entry, ttft)

    def leave(self, entry: Permit, kind: OutcomeKind, sample: Sample | None) -> None:
        self._limiter.release(entry, outcome_kind=kind, **_learned(sample))


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One attempt that the queue let through."""

    job: Job
    ticket: Ticket


class QueueDoor:
    """Requests wait in the queue, ranked, until the admission law and the limiter take them."""

    def __init__(self, queue: AdmissionQueue, roster: Roster, clock: Callable[[], float]) -> None:
        self._queue = queue
        self._clock = clock
        self._roster = roster

    def enter_now(self) -> None:
        """Never: the laws decide when they have seen the request."""

    async def enter(self, job: Job, attempt: int) -> Entry:
        request = self._roster.enter(job, self._clock(), attempt)
        try:
            ticket = await self._queue.acquire(request, kv_tokens=request.prompt_tokens)
        except (Shed, asyncio.CancelledError):
            self._roster.leave(job, None, self._clock())
            raise
        return Entry(job, ticket)

    def first_token(self, entry: Entry, ttft: float) -> None:
        self._queue.first_token(entry.ticket, ttft)

    def leave(self, entry: Entry, kind: OutcomeKind, sample: Sample | None) -> None:
        self._roster.leave(entry.job, sample.service_ttft if sample else None, self._clock())
        due = entry.ticket.admitted.request.deadline_at
        first = sample.first_token_at if sample else None
        late = None if due is None else first is None or first > due
        self._queue.release(entry.ticket, outcome_kind=kind, late=late, **_learned(sample))


def _learned(sample: Sample | None) -> dict[str, Any]:
    """What laws learn from an attempt besides how it ended."""
    if sample is None:
        return {}
    return {
        "latency": sample.service_e2e,
        "ttft": sample.service_ttft,
        "prompt_tokens": sample.prompt_tokens,
        "output_tokens": sample.output_tokens,
        "retry_after": sample.retry_after,
    }
