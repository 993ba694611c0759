"""One request under a limit: from its permit to what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType

from headway.limits.errors import Misuse
from headway.limits.outcomes import of_error, of_status
from schedulers.concurrency.base import OutcomeKind
from schedulers.runtime.limiter import Limiter, Permit
from schedulers.runtime.retrying import Failed


class Request:
    """``async with limit.request() as request``: waits for a place, and gives it back.

    An exception that leaves the block counts as its shape says (refused, timed out, failed); so
    does a status that it is told. Without either it was a success.
    """

    def __init__(self, limiter: Callable[[], Limiter], clock: Callable[[], float]) -> None:
        self._limiter = limiter
        self._clock = clock
        self._entered = False
        self._held: tuple[Limiter, Permit] | None = None
        self._failed: Failed | None = None
        self._ttft: float | None = None
        self._tokens: tuple[int | None, int | None] = (None, None)

    @property
    def failed(self) -> Failed | None:
        """How it failed, as far as it was told."""
        return self._failed

    async def __aenter__(self) -> Request:
        if self._entered:
            raise Misuse("a request is entered once; ask limit.request() for each one")
        self._entered = True
        limiter = self._limiter()
        self._held = (limiter, await limiter.acquire())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if error is not None:
            self._failed = of_error(error)
        limiter, permit = self._now("leave it")
        self._held = None
        failed = self._failed
        prompt, output = self._tokens
        limiter.release(
            permit,
            outcome_kind=OutcomeKind.OK if failed is None else failed.kind,
            ttft=self._ttft,
            prompt_tokens=prompt,
            output_tokens=output,
            retry_after=None if failed is None else failed.retry_after,
        )

    def first_token(self) -> None:
        """A streamed answer has begun; a law that follows TTFT learns from it. The first counts."""
        limiter, permit = self._now("tell of its first token")
        if self._ttft is None:
            self._ttft = self._clock() - permit.granted_at
            limiter.first_token(permit, self._ttft)

    def tokens(self, *, prompt: int | None = None, output: int | None = None) -> None:
        """How long prompt and answer were, where that is known."""
        self._now("tell of its tokens")
        for name, value in (("prompt", prompt), ("output", output)):
            if value is not None and (isinstance(value, bool) or value < 0):
                raise Misuse(f"{name} must be a number of tokens, got {value!r}")
        self._tokens = (prompt, output)

    def status(self, status: int, headers: Mapping[str, str] | None = None) -> None:
        """The HTTP status of an answer, for clients that raise nothing for a 429."""
        self._now("tell of its status")
        if isinstance(status, bool) or not 100 <= status <= 599:
            raise Misuse(f"status must be an HTTP status from 100 to 599, got {status!r}")
        self._failed = of_status(status, headers)

    def _now(self, what: str) -> tuple[Limiter, Permit]:
        if self._held is None:
            raise Misuse(f"a request can {what} only within its own `async with` block")
        return self._held
