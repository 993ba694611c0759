"""A client whose engine is the engine model in the same event loop: no socket, no wire.

It gives the driver what ``engines.client.EngineClient`` gives it, so driver, limiter and laws are
those of a real load test. On a virtual-time loop hours pass in seconds. One thing is told more
coarsely: tokens after the first reach ``on_tokens`` in one lump when the answer ends, which saves
most of the time, and which no verdict rests on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

from engines.answer import Answer
from engines.request import CompletionRequest, Timeouts
from loadtest.simulation.readings import Readings
from measurement.outcome import Outcome, TokenSource
from schedulers.signals import Signals
from simulator.core.config import EngineConfig
from simulator.core.engine import Engine, QueueFull
from simulator.core.request import Request
from simulator.core.step import Step
from simulator.realtime import RealTimeHost
from simulator.text import count_tokens

OnTime = Callable[[float], None]
OnTokens = Callable[[Sequence[float], Sequence[int]], None]


class ModelClient:
    """One engine of its own, fresh. To be made inside the loop that it runs on."""

    def __init__(self, config: EngineConfig, *, seed: int) -> None:
        loop = asyncio.get_running_loop()
        self._clock = loop.time
        self._config = config
        self._host = RealTimeHost(
            Engine(config, seed=seed), clock=loop.time, call_at=loop.call_at, on_step=_unheard
        )
        self._serial = count()
        self._readings = Readings(self._host.engine, None)

    def signals(self) -> Signals:
        """What the engine says of itself, once a second, as a scraper would have it."""
        return self._readings.at(self._clock())

    async def complete(
        self,
        request: CompletionRequest,
        timeouts: Timeouts,
        *,
        on_sent: OnTime | None = None,
        on_tokens: OnTokens | None = None,
        on_answer: OnTime | None = None,
    ) -> Answer:
        """Ask the model; cancelling leaves it at once, as a closed connection does."""
        name = str(next(self._serial))
        prompt = max(1, count_tokens(request.prompt))
        now = self._clock()
        if on_sent is not None:
            on_sent(now)
        if prompt + request.max_tokens > self._config.max_model_len:
            longest = f"the model takes {self._config.max_model_len} tokens at most"
            return Answer(Outcome.HTTP_4XX, now, sent_at=now, status=400, error=longest)
        stream = _Stream(self._clock, now, timeouts, prompt, on_tokens, on_answer)
        try:
            self._host.submit(Request(name, prompt, request.max_tokens), stream)
        except QueueFull as refusal:
            return Answer(
                Outcome.REJECTED_503, now, sent_at=now, status=503, error=str(refusal)[:500]
            )
        try:
            return await stream.answer()
        finally:
            self._host.abort(name)


@dataclass(slots=True)
class _Stream:
    """One answer as it comes; the listener of its request, and the watch over its time-outs."""

    clock: Callable[[], float]
    sent_at: float
    timeouts: Timeouts
    prompt_tokens: int
    on_tokens: OnTokens | None
    on_answer: OnTime | None
    times: list[float] = field(default_factory=list)
    done: asyncio.Future[Answer] = field(init=False)
    timer: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        self.done = asyncio.get_running_loop().create_future()

    async def answer(self) -> Answer:
        """Wait for the last token, or for the first deadline that is missed."""
        self._watch()
        try:
            return await self.done
        finally:
            if self.timer is not None:
                self.timer.cancel()

    def token(self, *, last: bool) -> None:
        """One more token."""
        at = self.clock()
        self.times.append(at)
        if len(self.times) == 1:
            if self.on_tokens is not None:
                self.on_tokens((at,), (1,))
            if self.on_answer is not None:
                self.on_answer(at)
        if last:
            self._settle(Outcome.OK)

    def _deadline(self) -> tuple[float, Outcome]:
        total = self.sent_at + self.timeouts.total, Outcome.TIMEOUT_TOTAL
        if not self.times:
            return min(
                (self.sent_at + self.timeouts.first_token, Outcome.TIMEOUT_FIRST_TOKEN), total
            )
        return min((self.times[-1] + self.timeouts.idle, Outcome.TIMEOUT_IDLE), total)

    def _watch(self) -> None:
        """One timer for all three; it moves on where tokens came meanwhile."""
        due, outcome = self._deadline()
        if self.clock() >= due:
            self._settle(outcome)
        else:
            self.timer = asyncio.get_running_loop().call_at(due, self._watch)

    def _settle(self, outcome: Outcome) -> None:
        if self.done.done():
            return
        times = self.times
        first, last = (times[0], times[-1]) if times else (None, None)
        if self.on_tokens is not None and last is not None and len(times) > 1:
            self.on_tokens((last,), (len(times) - 1,))
        self.done.set_result(
            Answer(
                outcome=outcome,
                done_at=self.clock(),
                sent_at=self.sent_at,
                first_token_at=first,
                first_answer_at=first,
                last_token_at=last,
                chunks=len(times),
                gaps=tuple(late - early for early, late in pairwise(times)),
                first_chunk_tokens=1 if times else None,
                prompt_tokens=self.prompt_tokens,
                output_tokens=len(times) or None,
                token_source=TokenSource.USAGE if times else None,
                status=200,
                error="" if outcome.success else f"the model's answer: {outcome}",
            )
        )


def _unheard(step: Step, late: float) -> None:
    """Nobody keeps the model's steps here."""
