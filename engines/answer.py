"""An answer: what came of one request to an engine, with the times at which it came."""

from __future__ import annotations

from dataclasses import dataclass

from measurement.outcome import Outcome, TokenSource


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished call, successful or not. Times are on the caller's clock; None is never 0.

    The names are those of ``measurement.sample.Sample``, where each is defined.
    """

    outcome: Outcome
    done_at: float
    """End of the stream, or of whatever became of the request instead."""
    sent_at: float | None = None
    first_token_at: float | None = None
    first_answer_at: float | None = None
    last_token_at: float | None = None
    chunks: int = 0
    gaps: tuple[float, ...] = ()
    gap_tokens: tuple[int, ...] | None = None
    first_chunk_tokens: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    token_source: TokenSource | None = None
    status: int | None = None
    retry_after: float | None = None
    error: str = ""
