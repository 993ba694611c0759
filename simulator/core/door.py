"""What comes in: refused at a limit, or read and tokenised until the scheduler sees it."""

from __future__ import annotations

import heapq

from simulator.core.config import EngineConfig
from simulator.core.ingest import Ingest
from simulator.core.request import Request, Sequence


class QueueFull(Exception):  # noqa: N818 - a refusal, not a fault
    """The engine holds all it may; ``reason`` is the limit's name as vLLM's metrics spell it."""

    def __init__(self, reason: str, limit: int) -> None:
        self.reason = reason
        self.limit = limit
        super().__init__(f"{reason} ({limit}) is reached")


class Door:
    """Knows every request that is not over."""

    def __init__(self, config: EngineConfig, seed: int) -> None:
        self.sequences: dict[str, Sequence] = {}
        self.ingesting: list[tuple[float, int, Sequence]] = []
        """When each will be seen, in a heap."""
        self._config = config
        self._ingest = Ingest(config.ingest_s, config.ingest_sigma, seed)
        self._added = 0
        self._unanswered = 0
        """Prompt tokens of those that have not said anything yet."""

    def check(self) -> None:
        """Raise QueueFull if the next ``add`` would."""
        config = self._config
        requests, tokens = config.max_queued_requests, config.max_queued_tokens
        if requests is not None and len(self.sequences) >= requests:
            raise QueueFull("max_num_queued_reqs", requests)
        if tokens is not None and self._unanswered >= tokens:
            raise QueueFull("max_num_queued_tokens", tokens)

    def add(self, request: Request, now: float) -> Sequence:
        """Take a request that arrives ``now``; ValueError if it can't be served at all."""
        if request.id in self.sequences:
            raise ValueError(f"{request.id}: a request of this id is in the engine")
        if request.prompt_tokens + request.most_tokens > self._config.max_model_len:
            raise ValueError(f"{request.id}: longer than max_model_len")
        self.check()
        queued_at = now + self._ingest.draw()
        sequence = Sequence(request, now, queued_at)
        heapq.heappush(self.ingesting, (queued_at, self._added, sequence))
        self._added += 1
        self.sequences[request.id] = sequence
        self._unanswered += request.prompt_tokens
        return sequence

    def withdraw(self, sequence: Sequence) -> None:
        """It left before the scheduler saw it."""
        self.ingesting = [entry for entry in self.ingesting if entry[2] is not sequence]
        heapq.heapify(self.ingesting)

    def answered(self, sequence: Sequence) -> None:
        """It says its first token."""
        self._unanswered -= sequence.request.prompt_tokens

    def over(self, sequence: Sequence) -> None:
        """It is finished or gone."""
        del self.sequences[sequence.request.id]
        if sequence.first_token_at is None:
            self._unanswered -= sequence.request.prompt_tokens
