"""A limiter whose law can change between two requests, with everybody left where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from schedulers.concurrency.base import ConcurrencyLaw, OutcomeKind
from schedulers.decision import Decision
from schedulers.runtime.limiter import Limiter, Observer, Permit


@dataclass(slots=True, eq=False)
class LanePermit(Permit):
    """A permit that knows under which law's term it was granted."""

    term: int = 0


@dataclass(frozen=True, slots=True)
class _Kept:
    state: Any
    granted: int


class LaneLimiter(Limiter):
    """Swapping the law keeps the queue and the count in flight.

    What was granted under one law and ends under another frees its slot and teaches nobody. A law
    that comes back (canary blocks alternate) goes on from the state that it had.
    """

    def __init__(
        self,
        version: str,
        law: ConcurrencyLaw[Any],
        clock: Callable[[], float],
        *,
        cost_clock: Callable[[], float] | None = None,
        on_decision: Callable[[Decision], None] | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        super().__init__(law, clock, cost_clock, on_decision, observers)
        self.version = version
        self._term = 0
        self._kept: dict[str, _Kept] = {}

    def adopt(self, version: str, law: ConcurrencyLaw[Any]) -> None:
        """From now on another version decides; nothing happens when it does already."""
        if version == self.version:
            return
        self._kept[self.version] = _Kept(self._state, self._granted)
        kept = self._kept.pop(version, None)
        self.version = version
        self._term += 1
        self._law = law
        self._state = law.start() if kept is None else kept.state
        self._granted = 0 if kept is None else kept.granted
        self._limit = law.limit(self._state)
        self._until = law.until(self._state)
        self._wake()
        self._arm()

    def forget(self, *, but: frozenset[str]) -> None:
        """Drop the states of versions that no configuration names any more."""
        self._kept = {name: kept for name, kept in self._kept.items() if name in but}

    def first_token(self, permit: Permit, ttft: float | None = None) -> None:
        if not isinstance(permit, LanePermit) or permit.term == self._term:
            super().first_token(permit, ttft)

    def release(  # noqa: PLR0913 - as in Limiter
        self,
        permit: Permit,
        *,
        outcome_kind: OutcomeKind = OutcomeKind.OK,
        latency: float | None = None,
        ttft: float | None = None,
        prompt_tokens: int | None = None,
        output_tokens: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        if not isinstance(permit, LanePermit) or permit.term == self._term:
            super().release(
                permit,
                outcome_kind=outcome_kind,
                latency=latency,
                ttft=ttft,
                prompt_tokens=prompt_tokens,
                output_tokens=output_tokens,
                retry_after=retry_after,
            )
            return
        if permit.released:
            raise RuntimeError(f"permit {permit.serial} was released before")
        permit.released = True
        self.in_flight -= 1
        if self._waiters:
            self._wake()

    def _grant(self, now: float) -> Permit:
        self._granted += 1
        self.in_flight += 1
        for observer in self._observers:
            observer.granted(self.in_flight)
        return LanePermit(self._granted, now, self.in_flight, term=self._term)
