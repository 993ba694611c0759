"""A request as it comes in, and the sequence that the engine makes of it."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import Enum

from simulator.core.content import Content
from simulator.core.prefix_tree import Node
from simulator.core.ticks import Ticks


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked: so many prompt tokens, answered by exactly so many output tokens.

    Where an answer ends by itself is the host's to know; the engine is told beforehand.
    """

    id: str
    prompt_tokens: int
    output_tokens: int
    content: Content | None = None
    """What its tokens are; None: a prompt that shares nothing with any other."""
    max_tokens: int | None = None
    """Most that it may say, as an engine that reserves memory sees it; None: what it will say."""
    tenant: str = ""

    def __post_init__(self) -> None:
        if self.prompt_tokens < 1 or self.output_tokens < 1:
            raise ValueError(f"{self.id}: a request has at least one prompt and one output token")
        if self.max_tokens is not None and self.max_tokens < self.output_tokens:
            raise ValueError(f"{self.id}: says more than max_tokens")

    @property
    def total_tokens(self) -> int:
        """Prompt and answer together: what ``max_model_len`` bounds."""
        return self.prompt_tokens + self.output_tokens

    @property
    def most_tokens(self) -> int:
        """Output tokens that it may say."""
        return self.output_tokens if self.max_tokens is None else self.max_tokens


class Phase(Enum):
    """Where a sequence is on its way through the engine."""

    INGEST = "ingest"
    """Read and tokenised, before the scheduler sees it."""
    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    ABORTED = "aborted"


class Sequence:
    """The engine's record of one request. Times are model seconds; None is not yet.

    While it decodes, what changes with each token is kept for all decoding sequences together
    (``simulator.core.decoding``) and worked out here when asked.
    """

    __slots__ = (
        "_last_token_at", "_said_at", "_spells", "admitted_at", "arrived_at",
        "cached_tokens", "decoding", "done_tick", "first_token_at", "last_gap",
        "leaf", "phase", "place", "preemptions",
        "queued_at", "request", "scheduled_at", "settled_computed", "settled_emitted",
        "shared_blocks", "since", "swapped",
    )  # fmt: skip

    def __init__(self, request: Request, arrived_at: float, queued_at: float) -> None:
        self.request = request
        self.arrived_at = arrived_at
        self.queued_at = queued_at
        self.phase = Phase.INGEST
        self.preemptions = 0
        self.cached_tokens = 0
        """Prompt tokens that it found in the prefix cache when it first ran."""
        self.scheduled_at: float | None = None
        self.admitted_at: float | None = None
        """When it last joined the batch: later than ``scheduled_at`` once it was preempted."""
        self.first_token_at: float | None = None
        self.last_gap: float | None = None
        """Seconds between its last two tokens, where its host runs step by step."""
        self.place = -1
        """Rank in the order of admission: the batch's order."""
        self.leaf: Node | None = None
        self.shared_blocks = 0
        self.swapped = 0
        """Tokens whose keys and values wait in the host's memory."""
        self.decoding: Ticks | None = None
        self.since = 0
        self.done_tick = -1
        """The decode step with which it will be done."""
        self._spells: list[tuple[float | None, int, int]] = []
        self.settled_computed = 0
        """``computed`` when it began to decode; the same as ``computed`` while it doesn't."""
        self.settled_emitted = 0
        self._said_at: float | None = None
        self._last_token_at: float | None = None

    @property
    def emitted(self) -> int:
        """Output tokens said."""
        if self.decoding is None:
            return self.settled_emitted
        return self.settled_emitted + self.decoding.tick - self.since

    @property
    def known(self) -> int:
        """Prompt plus emitted tokens: what ``computed`` chases."""
        return self.request.prompt_tokens + self.emitted

    @property
    def computed(self) -> int:
        """Tokens whose keys and values are in the cache."""
        if self.decoding is None:
            return self.settled_computed
        return self.settled_computed + self.decoding.tick - self.since

    @property
    def last_token_at(self) -> float | None:
        """When its newest token was there."""
        if self.decoding is None or self.decoding.tick == self.since:
            return self._last_token_at
        return self.decoding.last_end

    @property
    def findable(self) -> bool:
        """Whether the prefix cache may hold some of it: of others, or of its own from before."""
        return not self.swapped and (self.request.content is not None or self.preemptions > 0)

    def restart(self, computed: int) -> None:
        """So many tokens are in the cache when it (again) begins to prefill."""
        self.settled_computed = computed

    def say(self, at: float) -> None:
        """The token that ends a prefill."""
        self.settled_emitted += 1
        if self.first_token_at is None:
            self.first_token_at = at
        self._said_at = self._last_token_at = at

    def settle(self) -> None:
        """Leave the decoding ones: what was worked out becomes what is kept."""
        if self.decoding is None:
            return
        self._last_token_at = self.last_token_at
        tick = self.decoding.tick
        self._spells.append((self._said_at, self.since, tick))
        self._said_at = None
        self.settled_computed += tick - self.since
        self.settled_emitted += tick - self.since
        self.decoding = None
        self.done_tick = -1

    def token_times(self, ends: array[float]) -> list[float]:
        """When each of its tokens was there, from the decode steps' ends that an engine kept."""
        times: list[float] = []
        for said_at, first, last in self._spells:
            if said_at is not None:
                times.append(said_at)
            times.extend(ends[first:last])
        if self._said_at is not None:
            times.append(self._said_at)
        if self.decoding is not None:
            times.extend(ends[self.since : self.decoding.tick])
        return times
