"""Where a policy has its say inside the engine: plain callables over frozen views.

A host makes them from the laws of ``schedulers``; the core knows no law. An answer is taken to
hold until the queue or the batch changes, which is what lets a virtual host leap over steps in
which nothing does. A law that wants to be asked at every step says so with ``each_step``, and pays.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Ordered
from dataclasses import dataclass

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
class Hooks:
    """None: as the engine would by itself."""

    token_budget: Callable[[Load], int] | None = None
    """Tokens that a step with prefills may hold, decodes included; at most the engine's own."""
    next_up: Callable[[Ordered[View], float], int] | None = None
    """Which of the waiting is next; it is not passed if it doesn't fit."""
    victim: Callable[[Ordered[View], float], int] | None = None
    """Which of the running goes when memory is short."""
    each_step: bool = False


NONE = Hooks()
