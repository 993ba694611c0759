"""What the clients that a run plays do beside asking: try again when refused, and go away.

Both are drawn from the schedule's seed by a request's index, so they are the same for any number of
workers. A request that is tried again is offered once: its attempts are kept on its one sample.
"""

from __future__ import annotations

from dataclasses import dataclass

from documents.fields import parameter
from engines.outcomes import RETRIED
from loadtest.schedule import Schedule
from measurement.sample import Sample


@dataclass(frozen=True, slots=True)
class Retries:
    """Exponential back-off with full jitter, behind the answer's own Retry-After."""

    max: int = parameter(minimum=1, maximum=20, help="attempts after the first")
    base_ms: float = parameter(
        default=500.0,
        minimum=0.0,
        maximum=600_000,
        unit="ms",
        help="longest wait before the second attempt; it doubles for each further one",
    )
    cap_ms: float = parameter(
        default=8_000.0, minimum=0.0, maximum=600_000, unit="ms", help="where the doubling ends"
    )

    def wait(self, failed: int, retry_after: float | None, draw: float) -> float:
        """Seconds after the ``failed``-th failure; ``draw`` is even in [0, 1).

        A Retry-After is kept to the full, and the jitter comes on top: else all whom one answer
        sent away would come back at one instant.
        """
        longest = min(self.cap_ms, self.base_ms * 2.0 ** (failed - 1)) / 1e3
        return (retry_after or 0.0) + draw * longest


@dataclass(frozen=True, slots=True)
class Cancellations:
    """A share of the clients do not wait for their answer to its end."""

    share: float = parameter(
        minimum=0.0, exclusive_minimum=True, maximum=1.0, help="of the requests"
    )
    after_s: float = parameter(
        minimum=0.001,
        maximum=3_600,
        unit="s",
        help="from a request's intended start until its client goes away",
    )


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One run's clients; None where they do nothing of the kind."""

    schedule: Schedule
    retries: Retries | None = None
    cancellations: Cancellations | None = None

    def leaves_at(self, index: int, intended_at: float) -> float | None:
        """When the client of a request goes away, on the schedule's clock; None: it stays."""
        asked = self.cancellations
        if asked is None or self.schedule.leaving(index) >= asked.share:
            return None
        return intended_at + asked.after_s

    def again_after(self, attempt: Sample, failed: int) -> float | None:
        """Seconds until a request is sent again, when ``failed`` attempts have failed by now."""
        asked = self.retries
        if asked is None or failed > asked.max or attempt.outcome not in RETRIED:
            return None
        return asked.wait(failed, attempt.retry_after, self.schedule.jitter(attempt.index, failed))
