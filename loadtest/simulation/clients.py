"""What the clients of a simulation do beside asking: come again when refused, and go away.

What ``loadtest.driver`` does on an event loop: the policy's retry law where there is one, else the
scenario's own clients, say whether a request is sent again, and after how long.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

from engines.outcomes import RETRIED
from loadtest.behaviour import Behaviour
from loadtest.driver import KINDS
from loadtest.simulation.flight import Flight
from measurement.sample import Sample
from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Reason
from schedulers.runtime.retrying import Failed, Retrier


@dataclass(frozen=True, slots=True, order=True)
class _Due:
    """Something a client does; ``attempt``: of a request that comes again, 0 of one that leaves."""

    at: float
    index: int
    attempt: int


class Clients:
    """``deadline``: nobody comes again from then on. Times are seconds from the start."""

    def __init__(self, behaviour: Behaviour, retrier: Retrier | None, deadline: float) -> None:
        self._behaviour = behaviour
        self._retrier = retrier
        self._deadline = deadline
        self._due: list[_Due] = []
        self._flights: dict[int, Flight] = {}

    @property
    def due(self) -> float:
        """When the next one comes again or leaves; infinity: nobody does."""
        while self._due and self._due[0].index not in self._flights:
            heapq.heappop(self._due)
        return self._due[0].at if self._due else math.inf

    def offered(self, flight: Flight) -> Reason | None:
        """A request comes; the reason where the retry law refuses it itself."""
        index = flight.job.index
        self._flights[index] = flight
        leaves_at = self._behaviour.leaves_at(index, flight.job.intended_at)
        if leaves_at is not None:
            heapq.heappush(self._due, _Due(max(leaves_at, flight.handed_at), index, 0))
        return None if self._retrier is None else self._retrier.offered()

    def take(self) -> tuple[Flight, bool]:
        """Whoever is due, and whether it leaves."""
        due = heapq.heappop(self._due)
        return self._flights[due.index], due.attempt == 0

    def comes_again(self, flight: Flight, sample: Sample, now: float) -> bool:
        """An attempt is over: whether another follows, of which ``take`` tells in its time."""
        wait = self._again_after(flight, sample)
        if wait is None or now + wait >= self._deadline:
            return False
        flight.failed(sample, wait)
        attempt = len(flight.attempts) + 1
        heapq.heappush(self._due, _Due(now + wait, flight.job.index, attempt))
        return True

    def over(self, flight: Flight) -> None:
        """Its request is over."""
        self._flights.pop(flight.job.index, None)

    def _again_after(self, flight: Flight, sample: Sample) -> float | None:
        attempts, retrier = len(flight.attempts) + 1, self._retrier
        if retrier is None:
            return self._behaviour.again_after(sample, attempts)
        if sample.outcome.success:
            retrier.succeeded()
            return None
        failed = Failed(
            kind=KINDS.get(sample.outcome, OutcomeKind.FAILED),
            retry_after=sample.retry_after,
            safe=sample.outcome in RETRIED and not sample.chunks,
        )
        return retrier.again_after(
            failed, attempts, previous_wait=flight.waited, deadline_at=self._deadline
        )
