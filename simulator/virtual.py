"""The virtual host: the clock jumps from event to event, over steps in which nothing changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from simulator.core.config import EngineConfig
from simulator.core.content import Content
from simulator.core.engine import Engine, QueueFull
from simulator.core.hooks import NONE, Hooks
from simulator.core.request import Phase, Request, Sequence
from simulator.core.step import Step
from simulator.profile import Profile


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request of a replay. ``cancelled_at`` is when its client goes away, if it does."""

    at: float
    prompt_tokens: int
    output_tokens: int
    cancelled_at: float | None = None
    content: Content | None = None
    """What its tokens are, where a prefix cache may find some of them."""

    @property
    def left_at(self) -> float | None:
        """When its client went away: not before it came."""
        return None if self.cancelled_at is None else max(self.at, self.cancelled_at)


@dataclass(frozen=True, slots=True)
class Served:
    """What became of one arrival. Times are model seconds; None is never."""

    index: int
    arrived_at: float
    prompt_tokens: int
    output_tokens: int = 0
    """Tokens said, which is less than asked for where the client went away."""
    scheduled_at: float | None = None
    first_token_at: float | None = None
    last_token_at: float | None = None
    """When the answer was whole; None unless it finished."""
    finished: bool = False
    preemptions: int = 0
    cached_tokens: int = 0
    """Prompt tokens that it found in the prefix cache."""
    refused: str = ""
    """The limit that turned it away."""

    @property
    def ttft(self) -> float | None:
        return None if self.first_token_at is None else self.first_token_at - self.arrived_at

    @property
    def tpot(self) -> float | None:
        """Seconds per output token after the first; None with fewer than two."""
        if self.first_token_at is None or self.last_token_at is None or self.output_tokens < 2:
            return None
        return (self.last_token_at - self.first_token_at) / (self.output_tokens - 1)

    @property
    def e2e(self) -> float | None:
        """From arrival to the last token; None unless it finished."""
        return None if self.last_token_at is None else self.last_token_at - self.arrived_at


_AHEAD = 64
"""Arrivals that an engine without limits is told of before their time."""


def replay(
    arrivals: Iterable[Arrival],
    profile: Profile | EngineConfig,
    *,
    seed: int = 0,
    hooks: Hooks = NONE,
    on_step: Callable[[Step], None] | None = None,
) -> list[Served]:
    """Run the arrivals through an engine of their own; one Served each, in the order given.

    ``on_step`` is called with each step: the step log. With it every step is made one by one; what
    is served, and when, is the same to the last bit.
    """
    config = profile.config() if isinstance(profile, Profile) else profile
    engine = Engine(config, seed=seed, hooks=hooks)
    listed = list(arrivals)
    taken: list[Sequence | str] = [""] * len(listed)
    events = _events(listed)
    at = 0
    # Where nobody is refused, it makes no difference when the engine hears of an arrival to come.
    ahead = _AHEAD if on_step is None and not config.refuses else 0
    while True:
        while at < len(events) and engine.ingesting < ahead and not events[at][1]:
            when, _, place = events[at]
            taken[place] = add(engine, listed[place], place, when)
            at += 1
        due = engine.next_step_at()
        if at < len(events) and (due is None or events[at][0] <= due):
            when, leaves, place = events[at]
            at += 1
            if leaves:
                engine.abort(str(place))
            else:
                taken[place] = add(engine, listed[place], place, when)
        elif due is None:
            return [served(*entry) for entry in zip(range(len(listed)), listed, taken, strict=True)]
        elif on_step is None:
            engine.run_until(events[at][0] if at < len(events) else math.inf)
        else:
            on_step(engine.step(due))


def _events(arrivals: list[Arrival]) -> list[tuple[float, bool, int]]:
    """When, whether it leaves, and which: of one moment arrivals first, in the order given."""
    events = [(arrival.at, False, place) for place, arrival in enumerate(arrivals)]
    for place, arrival in enumerate(arrivals):
        if arrival.left_at is not None:
            events.append((arrival.left_at, True, place))
    return sorted(events)


def add(engine: Engine, arrival: Arrival, place: int, when: float) -> Sequence | str:
    """Hand one to the engine; the limit's name where it is refused."""
    request = Request(str(place), arrival.prompt_tokens, arrival.output_tokens, arrival.content)
    try:
        return engine.add(request, when)
    except QueueFull as refusal:
        return refusal.reason


def served(index: int, arrival: Arrival, taken: Sequence | str) -> Served:
    """What became of one, once nothing more can become of it."""
    if isinstance(taken, str):
        return Served(index, arrival.at, arrival.prompt_tokens, refused=taken)
    # The engine has the token of a running step already; who left before its end never got it.
    last = taken.last_token_at
    unsaid = last is not None and arrival.left_at is not None and last > arrival.left_at
    said = taken.emitted - 1 if unsaid else taken.emitted
    finished = taken.phase is Phase.FINISHED and not unsaid
    return Served(
        index,
        arrival.at,
        arrival.prompt_tokens,
        output_tokens=said,
        scheduled_at=taken.scheduled_at,
        first_token_at=taken.first_token_at if said else None,
        last_token_at=last if finished else None,
        finished=finished,
        preemptions=taken.preemptions,
        cached_tokens=taken.cached_tokens,
    )
