"""A request as it comes in, and the sequence that the engine makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked: so many prompt tokens, answered by exactly so many output tokens.

    Where an answer ends by itself is the host's to know; the engine is told beforehand.
    """

    id: str
    prompt_tokens: int
    output_tokens: int

    def __post_init__(self) -> None:
        if self.prompt_tokens < 1 or self.output_tokens < 1:
            raise ValueError(f"{self.id}: a request has at least one prompt and one output token")

    @property
    def total_tokens(self) -> int:
        """Prompt and answer together: what ``max_model_len`` bounds."""
        return self.prompt_tokens + self.output_tokens


class Phase(Enum):
    """Where a sequence is on its way through the engine."""

    INGEST = "ingest"
    """Read and tokenised, before the scheduler sees it."""
    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    ABORTED = "aborted"


@dataclass(slots=True, eq=False)
class Sequence:
    """The engine's record of one request. Times are model seconds; None is not yet."""

    request: Request
    arrived_at: float
    queued_at: float
    phase: Phase = Phase.INGEST
    computed: int = 0
    """Tokens whose keys and values are in the cache."""
    emitted: int = 0
    blocks: int = 0
    preemptions: int = 0
    scheduled_at: float | None = None
    first_token_at: float | None = None
    last_token_at: float | None = None
    last_gap: float | None = None
    """Seconds between its last two tokens."""
    known: int = field(init=False)
    """Prompt plus emitted tokens: what ``computed`` chases."""

    def __post_init__(self) -> None:
        self.known = self.request.prompt_tokens
