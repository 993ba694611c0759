"""Retrying: attempts one after another, as a retry law says, with waits between them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Decision, DecisionPoint, Reason
from schedulers.retry.base import Failure, RetryLaw, decided

T = TypeVar("T")


class Throttled(Exception):  # noqa: N818 - an answer, not a fault
    """The client refused the request itself; nothing was sent."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(reason.meaning)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """How an attempt failed, as its host tells it."""

    kind: OutcomeKind
    retry_after: float | None = None
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Attempted(Generic[T]):
    """The last attempt's result, and how many there were."""

    result: T
    attempts: int
    waited_s: float


class Retrier:
    """One retry law and its state, shared by all requests of one client: so is the budget.

    ``sleep``, ``clock`` and ``draw`` (numbers from [0, 1)) are arguments, so that a test or a plant
    runs it in virtual time. An exception of an attempt is not a failure but a fault: it passes
    through, as cancellation does, and leaves nothing behind.
    """

    def __init__(
        self,
        law: RetryLaw[Any],
        *,
        sleep: Callable[[float], Awaitable[Any]],
        clock: Callable[[], float],
        draw: Callable[[], float],
        on_decision: Callable[[Decision], None] | None = None,
        version: str = "",
    ) -> None:
        self._law, self._state = law, law.start()
        self._version = version
        self._kept: dict[str, Any] = {}
        self._sleep, self._clock, self._draw = sleep, clock, draw
        self._on_decision = on_decision

    @property
    def state(self) -> Any:
        """The law's state: a frozen value."""
        return self._state

    def adopt(self, version: str, law: RetryLaw[Any]) -> None:
        """Another version decides from now on; one that comes back goes on from its state."""
        if version == self._version:
            return
        self._kept[self._version] = self._state
        self._version, self._law = version, law
        self._state = self._kept.pop(version) if version in self._kept else law.start()

    def forget(self, *, but: frozenset[str]) -> None:
        """Drop the states of versions that no configuration names any more."""
        self._kept = {name: kept for name, kept in self._kept.items() if name in but}

    async def run(
        self,
        attempt: Callable[[int], Awaitable[T]],
        failure_of: Callable[[T], Failed | None],
        *,
        deadline_at: float | None = None,
    ) -> Attempted[T]:
        """Attempt 1, 2, …, until one succeeds or the law says no more. Throttled: none was made."""
        refused = self.offered()
        if refused is not None:
            raise Throttled(refused)
        number, waited, wait = 1, 0.0, None
        while True:
            result = await attempt(number)
            failed = failure_of(result)
            if failed is None:
                self.succeeded()
                return Attempted(result, number, waited)
            wait = self.again_after(failed, number, previous_wait=wait, deadline_at=deadline_at)
            if wait is None:
                return Attempted(result, number, waited)
            await self._sleep(wait)
            waited += wait
            number += 1

    def offered(self) -> Reason | None:
        """A new request comes; the reason where the law refuses it itself."""
        now = self._clock()
        self._state, refused = self._law.offered(self._state, self._draw(), now)
        if refused is not None and self._on_decision is not None:
            name = self._law.name
            self._on_decision(Decision(now, DecisionPoint.RETRY, name, 1.0, 0.0, refused, {}))
        return refused

    def succeeded(self) -> None:
        """An attempt has succeeded."""
        self._state = self._law.succeeded(self._state, self._clock())

    def again_after(
        self,
        failed: Failed,
        attempts: int,
        *,
        previous_wait: float | None = None,
        deadline_at: float | None = None,
    ) -> float | None:
        """Seconds after which a request whose ``attempts`` have failed is sent again; None: not."""
        failure = Failure(
            kind=failed.kind,
            attempts=attempts,
            retry_after=failed.retry_after,
            previous_wait=previous_wait,
            deadline_at=deadline_at,
            safe=failed.safe,
        )
        now = self._clock()
        self._state, verdict = self._law.failed(self._state, failure, self._draw(), now)
        if self._on_decision is not None:
            self._on_decision(decided(self._law, failure, verdict, now))
        return verdict.wait_s
