"""A sample: one offered request as measured, on one monotonic clock.

All times are float seconds on the run's clock (0 = the schedule's start). Null is never 0: a
metric that has no meaning for a request is None. Definitions: docs/metrics.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from measurement.outcome import Outcome, TokenSource


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a request that was then tried again. Times as on the sample."""

    outcome: Outcome
    sent_at: float | None = None
    done_at: float | None = None
    status: int | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One offered request. ``index`` is its place in the schedule."""

    index: int
    tenant: str
    intended_at: float
    outcome: Outcome
    handed_at: float | None = None
    """When the client handed it to the policy."""
    admitted_at: float | None = None
    """When the policy let it go."""
    sent_at: float | None = None
    """When its first byte was handed to the socket; of several attempts, the first one's."""
    first_token_at: float | None = None
    """First generated token of any channel: content, reasoning, tool-call arguments."""
    first_answer_at: float | None = None
    """First token of content."""
    last_token_at: float | None = None
    done_at: float | None = None
    """End of the stream, or of whatever became of the request instead."""
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    token_source: TokenSource | None = None
    first_chunk_tokens: int | None = None
    """k: tokens in the first chunk that carried any; 1 when the stream does not say."""
    chunks: int = 0
    """Chunks that carried at least one token."""
    gaps: tuple[float, ...] = ()
    """Seconds between successive token-carrying chunks (chunks − 1 of them)."""
    gap_tokens: tuple[int, ...] | None = None
    """Tokens that each gap's chunk carried, where the stream says (continuous usage)."""
    status: int | None = None
    retry_after: float | None = None
    """Seconds, as the answer's Retry-After header gave it."""
    attempts: tuple[Attempt, ...] = ()
    """Those that failed before the one that is told of here: the request is offered once."""
    error: str = ""
    """First 500 characters of what was answered instead, secrets removed."""

    @property
    def send_lag(self) -> float | None:
        """``sent_at − intended_at``: the client's own delay plus the policy's hold."""
        return _minus(self.sent_at, self.intended_at)

    @property
    def client_lag(self) -> float | None:
        """The part of the send lag that is the client's own fault: before the policy had it."""
        return _minus(self.handed_at, self.intended_at)

    @property
    def hold(self) -> float | None:
        """The part of the send lag that the policy asked for."""
        return _minus(self.admitted_at, self.handed_at)

    @property
    def ttft(self) -> float | None:
        """Time to first token from the intended start."""
        return _minus(self.first_token_at, self.intended_at)

    @property
    def service_ttft(self) -> float | None:
        """Time to first token from the actual send."""
        return _minus(self.first_token_at, self.sent_at)

    @property
    def ttfat(self) -> float | None:
        """Time to the first token of content from the intended start."""
        return _minus(self.first_answer_at, self.intended_at)

    @property
    def e2e(self) -> float | None:
        """End to end from the intended start; None for a failure."""
        return _minus(self.done_at, self.intended_at) if self.outcome.success else None

    @property
    def service_e2e(self) -> float | None:
        """End to end from the actual send; None for a failure."""
        return _minus(self.done_at, self.sent_at) if self.outcome.success else None

    @property
    def tpot(self) -> float | None:
        """Seconds per output token after the first chunk: (last − first) / (n − k)."""
        n, k = self.output_tokens, self.first_chunk_tokens
        span = _minus(self.last_token_at, self.first_token_at)
        if span is None or n is None or k is None or n <= k:
            return None
        return span / (n - k)

    @property
    def normalised_latency(self) -> float | None:
        """E2E seconds per output token; None without tokens."""
        e2e = self.e2e
        return e2e / self.output_tokens if e2e is not None and self.output_tokens else None

    @property
    def mean_gap(self) -> float | None:
        """Mean gap of this answer: to each token where the stream says, else to each chunk."""
        return sum(self.gaps) / sum(self.gap_weights) if self.gaps else None

    @property
    def gap_weights(self) -> tuple[int, ...]:
        """How many tokens each gap led to; one a chunk where the stream does not say."""
        if self.gap_tokens is None:
            return (1,) * len(self.gaps)
        return tuple(max(1, tokens) for tokens in self.gap_tokens)

    @property
    def token_gaps(self) -> tuple[float, ...]:
        """Each gap shared evenly among the tokens that it led to; weighted by ``gap_weights``."""
        if self.gap_tokens is None:
            return self.gaps
        pairs = zip(self.gaps, self.gap_weights, strict=True)
        return tuple(gap / tokens for gap, tokens in pairs)

    @property
    def longest_gap(self) -> float | None:
        """The longest silence between two chunks: a stall that pooled percentiles hide."""
        return max(self.gaps) if self.gaps else None


def _minus(late: float | None, early: float | None) -> float | None:
    return None if late is None or early is None else late - early
