"""Client throttling: when few requests succeed, the client refuses some itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.retry.base import RETRYABLE, Failure, Verdict, never, retry_law


@dataclass(frozen=True, slots=True)
class Throttle:
    """Requests tried and accepted of late; both fade over ``window_s``."""

    tried: float = 0.0
    accepted: float = 0.0
    at: float | None = None

    def faded(self, now: float, window_s: float) -> Throttle:
        """Time has passed; a backward clock fades nothing."""
        if self.at is None:
            return Throttle(self.tried, self.accepted, now)
        if not math.isfinite(now) or now <= self.at:
            return self
        factor = math.exp((self.at - now) / window_s)
        return Throttle(self.tried * factor, self.accepted * factor, now)


@retry_law
@dataclass(frozen=True, slots=True)
class ClientThrottle:
    """A request is refused by the client itself with probability

        max(0, (tried − K × accepted) / (tried + 1)), at most ``most``

    over the last ``window_s``; K = 2 lets through twice what succeeds, so that recovery is seen.
    One retry, after U(0, 2 × base), if that chance lets it. Source: Google SRE book, "Handling
    Overload"; K = 1 / 0.9 is failsafe-go's.
    """

    name: ClassVar[str] = "client_throttle"
    summary: ClassVar[str] = (
        "Refuses requests at the client in the measure in which the engine refuses them, so that "
        "refusing costs the engine nothing."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault("Requests fail that were never tried; it protects the engine, not the request."),
        Fault("Ignores Retry-After: chance, not the drain, decides who comes back."),
    )

    k: float = parameter(
        default=2.0, minimum=1.0, maximum=10.0, help="Tried requests for each accepted one."
    )
    window_s: float = parameter(
        default=60.0, minimum=1.0, maximum=3600.0, unit="s", help="How fast the past fades."
    )
    most: float = parameter(
        default=0.9, minimum=0.0, maximum=0.99, help="The highest chance of refusing."
    )
    base_ms: float = parameter(
        default=500.0, minimum=1.0, maximum=600_000.0, unit="ms", help="The mean wait of a retry."
    )
    max_attempts: int = parameter(
        default=2, minimum=1, maximum=100, unit="attempts", help="Attempts of one request, at most."
    )

    def start(self) -> Throttle:
        return Throttle()

    def chance(self, state: Throttle) -> float:
        """The probability of refusing one now."""
        return min(self.most, max(0.0, (state.tried - self.k * state.accepted) / (state.tried + 1)))

    def offered(self, state: Throttle, draw: float, now: float) -> tuple[Throttle, Reason | None]:
        state = state.faded(now, self.window_s)
        refused = draw < self.chance(state)
        tried = Throttle(state.tried + 1.0, state.accepted, state.at)
        return tried, Reason.THROTTLED if refused else None

    def succeeded(self, state: Throttle, now: float) -> Throttle:
        state = state.faded(now, self.window_s)
        return Throttle(state.tried, state.accepted + 1.0, state.at)

    def failed(
        self, state: Throttle, failure: Failure, draw: float, now: float
    ) -> tuple[Throttle, Verdict]:
        state = state.faded(now, self.window_s)
        if failure.kind not in RETRYABLE or not failure.safe:
            return state, never(Reason.NOT_RETRYABLE)
        if failure.attempts >= self.max_attempts:
            return state, never(Reason.ATTEMPTS_SPENT)
        chance = self.chance(state)
        if draw < chance:
            return state, never(Reason.THROTTLED, chance=chance)
        # What is left of the draw is as good as a new one.
        wait = (draw - chance) / (1.0 - chance) * 2.0 * self.base_ms / 1e3
        if failure.deadline_at is not None and not now + wait < failure.deadline_at:
            return state, never(Reason.PAST_DEADLINE, wait=wait)
        tried = Throttle(state.tried + 1.0, state.accepted, state.at)
        return tried, Verdict(wait_s=wait, reason=Reason.RETRIED, inputs={"chance": chance})
