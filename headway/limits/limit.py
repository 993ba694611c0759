"""A limit: one policy, held by all requests of one event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from documents.problem import DocumentError, Problem
from documents.yaml_text import parse_yaml
from headway.limits.errors import BadPolicy, Misuse, SelfRefused
from headway.limits.outcomes import of_error
from headway.limits.request import Request
from schedulers.builtin import builtin, builtin_names
from schedulers.decision import Decision, DecisionPoint
from schedulers.document import Policy
from schedulers.runtime.limiter import Limiter
from schedulers.runtime.retrying import Failed, Retrier, Throttled

T = TypeVar("T")

HELD = (DecisionPoint.CONCURRENCY, DecisionPoint.RETRY)
"""The decision points that a limit holds its requests to."""


class Limit:
    """``policy``: a built-in policy's name, a file, a document, or a Policy; it needs a concurrency
    law. ``on_decision`` is told of every decision; ``seed`` fixes the jitter of retries.

    One limit belongs to the event loop in which it is first used: all that it limits must share it.
    Nothing of this is for threads.
    """

    def __init__(
        self,
        policy: str | os.PathLike[str] | Mapping[str, Any] | Policy,
        *,
        on_decision: Callable[[Decision], None] | None = None,
        seed: int | None = None,
    ) -> None:
        self.policy = _policy(policy)
        if self.policy.law("concurrency") is None:
            message = "is required here: a limit holds requests in flight"
            raise BadPolicy((Problem("spec.concurrency", None, message),))
        self._on_decision = on_decision
        self._rng = np.random.default_rng(seed)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._limiter: Limiter | None = None
        self._retrier: Retrier | None = None

    @property
    def not_held(self) -> tuple[str, ...]:
        """Decision points that the policy fills and a limit in a script doesn't act on."""
        return tuple(str(point) for point in self.policy.laws if point not in HELD)

    @property
    def now(self) -> int:
        """How many may be in flight now."""
        law = self.policy.law("concurrency")
        if self._limiter is None:
            return 0 if law is None else law.limit(law.start())
        return self._limiter.limit

    @property
    def in_flight(self) -> int:
        """How many are in flight."""
        return 0 if self._limiter is None else self._limiter.in_flight

    @property
    def waiting(self) -> int:
        """How many wait for a place."""
        return 0 if self._limiter is None else self._limiter.waiting

    def request(self) -> Request:
        """One request: ``async with limit.request() as request``. It is not retried."""
        return Request(self._ready, self._clock)

    async def call(
        self,
        send: Callable[..., Awaitable[T]],
        *args: Any,
        deadline_s: float | None = None,
        **more: Any,
    ) -> T:
        """``await send(*args, **more)`` in its turn, and again as the policy's retry law says.

        A place is held while an attempt runs, not while it waits to try again. What ``send`` raises
        at last is raised here as it is. ``deadline_s``: no attempt begins later than that from now.
        SelfRefused: the retry law refused it before it was sent.
        """
        if not callable(send):
            raise Misuse("call takes a function that sends, not what it returned: drop the ()")
        self._ready()
        retrier, began = self._retrier, self._clock()

        async def attempt(number: int) -> T | BaseException:  # noqa: ARG001
            return await self._attempt(send, args, more)

        if retrier is None:
            return _raised(await attempt(1))
        due = None if deadline_s is None else began + deadline_s
        try:
            done = await retrier.run(attempt, _failure_of, deadline_at=due)
        except Throttled as throttled:
            raise SelfRefused(str(throttled)) from None
        result: T | BaseException = done.result
        return _raised(result)

    async def _attempt(
        self, send: Callable[..., Awaitable[T]], args: tuple[Any, ...], more: dict[str, Any]
    ) -> T | BaseException:
        """One attempt; its exception is a result, but for what ends the task."""
        try:
            async with self.request():
                return await _sent(send, args, more)
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - judged by its shape, and raised again at last
            return error

    def _ready(self) -> Limiter:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise Misuse("a limit works inside a running event loop: asyncio.run(…)") from None
        if self._limiter is None:
            self._begin(loop)
        if self._loop is not loop or self._limiter is None:
            raise Misuse("this limit belongs to another event loop; make one for each loop")
        return self._limiter

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        law = self.policy.law("concurrency")
        retry: Any = self.policy.law(DecisionPoint.RETRY)
        if law is not None:
            self._limiter = Limiter(law, loop.time, on_decision=self._on_decision)
        if retry is not None:
            self._retrier = Retrier(
                retry,
                sleep=asyncio.sleep,
                clock=loop.time,
                draw=self._rng.random,
                on_decision=self._on_decision,
            )
        self._loop = loop

    def _clock(self) -> float:
        return asyncio.get_running_loop().time()


def _sent(
    send: Callable[..., Awaitable[T]], args: tuple[Any, ...], more: dict[str, Any]
) -> Awaitable[T]:
    sent: Any = send(*args, **more)
    if not isinstance(sent, Awaitable):
        raise Misuse(f"call takes an async function; this one returned {type(sent).__name__}")
    return sent


def _failure_of(result: Any) -> Failed | None:
    return of_error(result) if isinstance(result, Exception) else None


def _raised(result: T | BaseException) -> T:
    if isinstance(result, BaseException):
        raise result
    return result


def _policy(given: object) -> Policy:
    try:
        if isinstance(given, Policy):
            return given
        if isinstance(given, str) and given in builtin_names():
            return builtin(given)
        if isinstance(given, str | os.PathLike):
            return Policy.parse(parse_yaml(Path(given).read_text("utf-8")))
        return Policy.parse(given)
    except DocumentError as error:
        raise BadPolicy.of(error) from None
    except (OSError, UnicodeDecodeError) as error:
        known = f"is no built-in policy ({', '.join(builtin_names())}) and no file: {error}"
        raise BadPolicy((Problem("policy", given, known),)) from None
