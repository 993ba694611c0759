"""The client: one request to one engine, and an answer whatever becomes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from engines.answer import Answer
from engines.headers import excerpt, retry_after
from engines.openai import PATHS, body
from engines.outcomes import outcome_of
from engines.reading import ERROR_LIMIT, OnAnswer, Reading
from engines.request import CompletionRequest, Timeouts
from engines.signals.base import adapter
from engines.target import Target
from engines.transport.base import Clock, Ending, Exchange, HttpRequest, Transport
from engines.watch import Watch
from measurement.outcome import Outcome

__all__ = ["Answer", "EngineClient"]

OnSent = Callable[[float], None]
OnTokens = Callable[[Sequence[float], Sequence[int]], None]


class EngineClient:
    """Asks one target over one transport. ``clock`` is monotonic seconds; answers are on it."""

    def __init__(
        self,
        target: Target,
        transport: Transport,
        clock: Clock = time.monotonic,
        *,
        wall: Clock = time.time,
    ) -> None:
        self.target = target
        self._transport = transport
        self._clock = clock
        self._wall = wall
        self._dialect = adapter(target.kind).dialect
        self._headers = (("Content-Type", "application/json"), *target.headers())
        self._urls = {shape: target.url(path) for shape, path in PATHS.items()}

    async def prepare(self) -> None:
        """Check the target against the egress rules before the first request.

        Raises EgressDenied. A name that can't be resolved is no fault here: it is the outcome of
        the requests.
        """
        await self._transport.prepare(self._urls["chat"])

    async def complete(
        self,
        request: CompletionRequest,
        timeouts: Timeouts,
        *,
        on_sent: OnSent | None = None,
        on_tokens: OnTokens | None = None,
        on_answer: OnAnswer | None = None,
    ) -> Answer:
        """Ask, and say what came of it; a failed request is an answer too.

        Cancelling closes the connection at once. ``on_sent(at)`` is called when the first byte is
        handed to the socket, ``on_tokens(ats, counts)`` with the times of chunks and the tokens in
        each: for the first one at once, for others as they are parsed, several at a time.
        ``on_answer(at)`` is called when the first one of the answer itself came.
        """
        call = self.call(
            request, timeouts, on_sent=on_sent, on_tokens=on_tokens, on_answer=on_answer
        )
        return await call.answer()

    def call(
        self,
        request: CompletionRequest,
        timeouts: Timeouts,
        *,
        on_sent: OnSent | None = None,
        on_tokens: OnTokens | None = None,
        on_answer: OnAnswer | None = None,
    ) -> Call:
        """The same, made ahead: its bytes are ready, and nothing is sent yet."""
        http = HttpRequest(
            "POST",
            self._urls[request.shape],
            self._headers,
            body(request, model=self.target.model, dialect=self._dialect),
        )
        heard = _Call(on_sent, on_tokens, on_answer)
        limit = min(timeouts.connect, timeouts.total)
        exchange = Exchange(http, heard, self._clock, connect_within=limit, patient=heard)
        return Call(self._transport, exchange, heard, self._answer, timeouts, stream=request.stream)

    def _answer(self, call: _Call, ending: Ending) -> Answer:
        reading = call.reading
        outcome, why = outcome_of(call.status, call.headers, reading, ending)
        if reading.whole_tokens and call.on_tokens is not None:
            call.on_tokens((ending.at,), (reading.whole_tokens,))
        prompt, output, source = reading.counts()
        streamed = reading.streamed and reading.chunks > 0
        return Answer(
            outcome=outcome,
            done_at=ending.at if reading.over_at is None else reading.over_at,
            sent_at=call.sent_at,
            first_token_at=reading.first_token_at,
            first_answer_at=reading.first_answer_at,
            last_token_at=reading.last_token_at,
            chunks=reading.chunks,
            gaps=tuple(reading.gaps),
            gap_tokens=tuple(reading.gap_tokens) if streamed and reading.continuous else None,
            first_chunk_tokens=reading.first_chunk_tokens,
            prompt_tokens=prompt,
            output_tokens=output,
            token_source=source,
            status=call.status,
            retry_after=retry_after(call.headers, self._wall),
            error="" if outcome.success else excerpt(why, (self.target.api_key,)),
        )


class Call:
    """One call, made ahead of its time. Never begun, it has opened nothing and leaves nothing."""

    __slots__ = (
        "_answer", "_began_at", "_exchange", "_heard", "_stream", "_timeouts", "_transport",
    )  # fmt: skip

    def __init__(
        self,
        transport: Transport,
        exchange: Exchange,
        heard: _Call,
        answer: Callable[[_Call, Ending], Answer],
        timeouts: Timeouts,
        *,
        stream: bool,
    ) -> None:
        self._transport = transport
        self._exchange = exchange
        self._heard = heard
        self._answer = answer
        self._timeouts = timeouts
        self._stream = stream
        self._began_at: float | None = None

    def begin(self) -> bool:
        """Send it here and now, if a connection is ready; else ``answer`` will.

        Whoever begins it waits for its ``answer`` in the same turn of the event loop or the next,
        for only then do its time-outs act; or else abandons it.
        """
        self._began_at = self._exchange.clock()
        return self._transport.begin(self._exchange)

    async def answer(self) -> Answer:
        """What came of it, once; cancelling closes the connection."""
        timeouts, heard = self._timeouts, self._heard
        heard.watched(Watch(self._exchange, heard, timeouts, self._began_at, stream=self._stream))
        try:
            ending = await self._transport.exchange(self._exchange)
        finally:
            heard.unwatched()
        if ending.outcome is Outcome.TIMEOUT_CONNECT and timeouts.total < timeouts.connect:
            ending = Ending(ending.at, Outcome.TIMEOUT_TOTAL, ending.reason)
        return self._answer(heard, ending)

    def abandon(self) -> None:
        """Close what was begun, without an answer."""
        self._exchange.abort()


class _Call:
    """One call under way: the sink of its bytes and the progress that its watch looks at."""

    __slots__ = (
        "_on_sent",
        "_told",
        "_watch",
        "headers",
        "on_tokens",
        "reading",
        "sent_at",
        "status",
    )

    def __init__(
        self,
        on_sent: OnSent | None,
        on_tokens: OnTokens | None,
        on_answer: OnAnswer | None,
    ) -> None:
        self._on_sent = on_sent
        self._watch: Watch | None = None
        self.on_tokens = on_tokens
        self._told = 0
        self.reading = Reading(on_answer=on_answer)
        self.sent_at: float | None = None
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}

    @property
    def first_token_at(self) -> float | None:
        return self.reading.first_token_at

    @property
    def event_at(self) -> float | None:
        return self.reading.event_at

    @property
    def over_at(self) -> float | None:
        return self.reading.over_at

    def on_sent(self, at: float) -> None:
        if self.sent_at is None:
            self.sent_at = at
            if self._on_sent is not None:
                self._on_sent(at)
        if self._watch is not None:
            self._watch.sent()

    def watched(self, watch: Watch) -> None:
        """From now on, whatever has come already."""
        self._watch = watch
        if self.sent_at is not None:
            watch.sent()
        if self.reading.over_at is not None:
            watch.over()

    def unwatched(self) -> None:
        """The call is over."""
        if self._watch is not None:
            self._watch.end()
            self._watch = None

    def on_head(self, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        self.headers = headers

    def on_body(self, at: float, data: bytes) -> None:
        reading = self.reading
        if self.status is not None and not 200 <= self.status < 300:
            reading.text += data[: ERROR_LIMIT - len(reading.text)]
            return
        over = reading.over_at
        reading.body(at, data)
        self._tell()
        if reading.over_at is not over and self._watch is not None:
            self._watch.over()

    @property
    def waits(self) -> bool:
        """Once the first token is there: the laws and a time-out wait for that one."""
        return self.reading.first_token_at is not None

    def on_bodies(self, ats: Sequence[float], pieces: Sequence[bytes]) -> None:
        reading = self.reading
        over = reading.over_at
        reading.bodies(ats, pieces)
        self._tell()
        if reading.over_at is not over and self._watch is not None:
            self._watch.over()

    def _tell(self) -> None:
        """Of the chunks that were not told yet."""
        told, times = self._told, self.reading.token_times
        if len(times) > told and self.on_tokens is not None:
            self._told = len(times)
            self.on_tokens(times[told:], self.reading.chunk_tokens[told:])
