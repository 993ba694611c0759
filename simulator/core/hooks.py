"""Where a policy has its say inside the engine: plain callables over frozen views.

A host makes them from the laws of ``schedulers``; the core knows no law. An answer is taken to
hold until the queue or the batch changes, which is what lets a virtual host leap over steps in
which nothing does. A law that wants to be asked at every step says so with ``each_step``, and pays.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Ordered
from dataclasses import dataclass
from typing import Protocol

from simulator.core.request import Sequence


@dataclass(frozen=True, slots=True)
class View:
    """One request in the engine as a law may see it. Times are model seconds."""

    id: str
    tenant: str
    arrived_at: float
    queued_at: float
    prompt_tokens: int
    emitted: int
    computed: int
    preemptions: int
    admitted_at: float | None = None
    """When it last joined the batch; None: it never did."""

    @classmethod
    def of(cls, sequence: Sequence) -> View:
        request = sequence.request
        return cls(
            request.id,
            request.tenant,
            sequence.arrived_at,
            sequence.queued_at,
            request.prompt_tokens,
            sequence.emitted,
            sequence.computed,
            sequence.preemptions,
            sequence.admitted_at,
        )


@dataclass(frozen=True, slots=True)
class Load:
    """The engine at the start of a step. ``context`` is what its decodes have read, in tokens."""

    now: float
    decoding: int
    prefilling: int
    waiting: int
    context: int
    free_blocks: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """The prompts that a step could get on with."""

    prefill_tokens: int
    """Prompt tokens that those who prefill lack."""
    waiting_tokens: int
    """Those of the waiting, counted up to more than the engine's own step can hold."""
    oldest_wait: float
    """Seconds that the first of the waiting has waited."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a step may hold. The engine's own limits hold besides."""

    token_budget: int
    max_sequences: int
    """Sequences that run at most."""
    admit_waiting: bool = True
    """Whether any of the waiting may begin; where nothing runs, the first does all the same."""
    wait_s: float = 0.0
    """How long an engine in which nothing runs puts its step off, asking again at an arrival."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A step that was taken, or the last of a stretch of steps of decodes alone."""

    decoding: int
    prefill_tokens: int
    context: int
    seconds: float
    end: float


class Line(Protocol):
    """The order of the waiting, as a law has it: told who comes and goes, asked who is first."""

    def joined(self, view: View) -> None:
        """It waits now, or once more."""
        ...

    def left(self, name: str) -> None:
        """It waits no more: it runs, or was given up."""
        ...

    def first(self, now: float) -> str:
        """Which of those that wait is next, by its id."""
        ...


@dataclass(frozen=True, slots=True)
class Hooks:
    """None: as the engine would by itself."""

    token_budget: Callable[[Load], int] | None = None
    """Tokens that a step with prefills may hold, decodes included; at most the engine's own."""
    line: Callable[[], Line] | None = None
    """Makes what is asked which of the waiting is next; who is isn't passed if it doesn't fit."""
    victim: Callable[[Ordered[View], float], int] | None = None
    """Which of the running goes when memory is short."""
    swaps: Callable[[str], bool] | None = None
    """Whether a victim, by its id, is moved to the host's memory, where the engine can."""
    allow: Callable[[Load, Ahead], Allowance] | None = None
    """All that a law of batching decides; it stands in the place of ``token_budget``."""
    taken: Callable[[Taken], None] | None = None
    """Told of each step, and of each stretch once."""
    padded: Callable[[int], int] | None = None
    """What a step of so many decodes alone computes for; None: the engine's own graphs."""
    each_step: bool = False


NONE = Hooks()
