"""A span of answers: what Netflix's WindowedLimit gives to the law inside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

SECONDS, ANSWERS = 1.0, 10
"""A span ends with the first answer after a second that is at least the tenth."""


@dataclass(frozen=True, slots=True)
class Span:
    """Sums over the answers since ``since``; a new one begins with its first answer."""

    since: float | None = None
    answers: int = 0
    total: float = 0.0
    peak: int = 0
    refused: bool = False

    def add(self, latency: float, in_flight: int, now: float) -> Span:
        """One more answer."""
        return Span(
            now if self.since is None else self.since,
            self.answers + 1,
            self.total + latency,
            max(self.peak, in_flight),
            self.refused,
        )

    def refuse(self) -> Span:
        """A refusal fell into it."""
        return replace(self, refused=True)

    def ready(self, now: float) -> bool:
        """Whether it is long enough to be judged."""
        return self.since is not None and self.answers >= ANSWERS and now - self.since >= SECONDS

    @property
    def mean(self) -> float:
        """Mean latency in seconds."""
        return self.total / self.answers
