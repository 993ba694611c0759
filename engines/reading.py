"""A reading: bytes of one answer become times, tokens and, at the end, an outcome."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from engines import alike
from engines.openai import ANSWER, DONE, Chunk, NotJson, Usage, decode
from engines.sse import SseError, SseParser
from measurement.outcome import Outcome, TokenSource

WHOLE_LIMIT = 32 * 1024 * 1024
ERROR_LIMIT = 64 * 1024
MOST_TOKENS = 2**31 - 1
"""No answer is longer; a count above, or below 0, is nonsense and taken as not said."""

OnTokens = Callable[[float, int], None]
OnAnswer = Callable[[float], None]

_BOM = b"\xef\xbb\xbf"
_TRIES = 8
"""Times in a row that no run is found before a stream is taken to have none."""


class Reading:
    """What has come so far. ``at`` is when the bytes arrived.

    Whether an answer is a stream is told from its first byte, not from its headers: engines send
    JSON errors as ``text/event-stream`` and streams without a content type.
    """

    __slots__ = (
        "_counted", "_on_answer", "_on_tokens", "_parser", "_tries", "chunk_tokens", "chunks",
        "continuous", "done", "event_at", "events", "failure", "final", "finish_reason",
        "first_answer_at", "first_chunk_tokens", "first_token_at", "last_token_at", "over_at",
        "so_far", "text", "token_times", "whole_tokens", "why",
    )  # fmt: skip

    def __init__(
        self, on_tokens: OnTokens | None = None, on_answer: OnAnswer | None = None
    ) -> None:
        self._on_tokens = on_tokens
        self._on_answer = on_answer
        self._parser: SseParser | None = None
        self._counted = 0
        self._tries = _TRIES
        self.text = bytearray()
        """The body, where it is no event stream."""
        self.events = 0
        self.event_at: float | None = None
        self.first_token_at: float | None = None
        self.first_answer_at: float | None = None
        self.last_token_at: float | None = None
        self.over_at: float | None = None
        """When the answer said that it is over: [DONE], or a failure."""
        self.done = False
        self.chunks = 0
        self.token_times: list[float] = []
        """When each chunk with text came."""
        self.chunk_tokens: list[int] = []
        """How many tokens each of them brought."""
        self.whole_tokens = 0
        """Those of an answer that came in one piece."""
        self.first_chunk_tokens: int | None = None
        self.continuous = False
        """Every token-carrying chunk so far said the count of tokens."""
        self.so_far: Usage | None = None
        self.final: Usage | None = None
        self.finish_reason: str | None = None
        self.failure: Outcome | None = None
        self.why = b""

    @property
    def streamed(self) -> bool:
        """Whether an event stream came."""
        return self._parser is not None

    @property
    def gaps(self) -> list[float]:
        """Seconds between one chunk with text and the next."""
        return [later - one for one, later in pairwise(self.token_times)]

    @property
    def gap_tokens(self) -> list[int]:
        """Tokens of each chunk behind the first."""
        return self.chunk_tokens[1:]

    def body(self, at: float, data: bytes) -> None:
        """Take body bytes of a 200."""
        if self._parser is None:
            self.text += data
            start = self.text.removeprefix(_BOM).lstrip()[:1]
            if not start or start in b"{[<":
                if len(self.text) > WHOLE_LIMIT:
                    self.fail(at, Outcome.MALFORMED, b"the answer grew over 32 MiB")
                return
            data = bytes(self.text)
            self.text.clear()
            self._parser = SseParser()
        try:
            events = self._parser.feed(data)
        except SseError as error:
            self.fail(at, Outcome.MALFORMED, str(error).encode())
            return
        for event in events:
            self._event(at, event.data, event.type)

    def bodies(self, ats: Sequence[float], pieces: Sequence[bytes]) -> None:
        """Take several pieces: as ``body`` takes each, for less where events are alike."""
        parser, text = self._parser, b"".join(pieces)
        if parser is None or b"\r" in text:
            for at, piece in zip(ats, pieces, strict=True):
                self.body(at, piece)
            return
        ends = list(accumulate(map(len, pieces)))
        place = turn = 0
        while turn < len(pieces):
            run, said = None, list[int]()
            if self._tries and parser.between and turn + 1 < len(pieces):
                run = alike.run_at(text, place)
                if run is None and self.so_far is not None:
                    run, said = alike.counted_at(text, place) or (None, said)
                self._tries = self._tries - 1 if run is None else _TRIES
            if run is None:
                self.body(ats[turn], text[place : ends[turn]])
                place = ends[turn]
                turn += 1
                continue
            place, chunks = run.first_end, self.chunks
            self._event(ats[bisect_left(ends, place)], run.data, "message")
            if self.chunks > chunks and (not said or self._says(said[0])):
                self._alike(alike.arrivals(text, run, ats, ends, pieces), said[1:])
                place = run.end
            turn = bisect_right(ends, place)

    def _says(self, count: int) -> bool:
        """Whether so many tokens is what was said last."""
        return self.so_far is not None and self.so_far.completion_tokens == count

    def _alike(self, ats: Sequence[float], said: Sequence[int]) -> None:
        """Chunks like the last one but for their text and what they have ``said`` of the tokens so
        far, where they did. What else it said, they say again: that changes nothing."""
        count = len(ats)
        tokens = [1] * count
        if said and self.continuous:
            before = self._counted
            for turn, now in enumerate(said):
                tokens[turn] = max(1, now - before)
                before += tokens[turn]
        self.token_times += ats
        self.chunk_tokens += tokens
        self.chunks += count
        self.events += count
        self._counted += sum(tokens)
        self.event_at = self.last_token_at = ats[-1]
        if self._on_tokens is not None:
            for at, n in zip(ats, tokens, strict=True):
                self._on_tokens(at, n)

    def fail(self, at: float, outcome: Outcome, why: bytes) -> None:
        """The first failure that the answer itself shows; nothing after it counts."""
        if self.over_at is None:
            self.failure, self.why, self.over_at = outcome, why, at

    def _event(self, at: float, data: bytes, type_: str) -> None:
        if self.over_at is not None:
            return
        self.events += 1
        self.event_at = at
        if len(data) < 16 and data.strip() in (b"", DONE):
            if data.strip():
                self.done, self.over_at = True, at
            return
        try:
            chunk = decode(data)
        except NotJson:
            outcome = Outcome.IN_BAND_ERROR if type_ == "error" else Outcome.MALFORMED
            self.fail(at, outcome, data)
            return
        if chunk.failed or type_ == "error":
            self.fail(at, Outcome.IN_BAND_ERROR, data)
            return
        self._chunk(at, chunk)

    def _chunk(self, at: float, chunk: Chunk) -> None:
        channels, usage = chunk.channels(), _sane(chunk.usage)
        if channels:
            self._tokens(at, usage)
            if self.first_answer_at is None and channels & ANSWER:
                self.first_answer_at = at
                if self._on_answer is not None:
                    self._on_answer(at)
        reason = chunk.finish_reason
        if reason is not None:
            self.finish_reason = reason
        if usage is not None:
            self._usage(usage, last=not chunk.choices or reason is not None)
        elif chunk.timings is not None and self.final is None:
            self.final = _sane(chunk.timings.as_usage())

    def _tokens(self, at: float, usage: Usage | None) -> None:
        """One chunk that carries text: its stamp, its gap, and its tokens where it says them."""
        said = None if usage is None else usage.completion_tokens
        if self.first_token_at is None:
            self.continuous = said is not None
        if said is None:
            self.continuous = False
        n = max(1, said - self._counted) if said is not None and self.continuous else 1
        self._counted += n
        if self.last_token_at is None:
            self.first_token_at = at
            self.first_chunk_tokens = n
        self.token_times.append(at)
        self.chunk_tokens.append(n)
        self.last_token_at = at
        self.chunks += 1
        if self._on_tokens is not None:
            self._on_tokens(at, n)

    def _usage(self, usage: Usage, *, last: bool) -> None:
        """Usage of the whole, where no more text can follow; else usage so far."""
        if last and usage.completion_tokens is not None:
            self.final = usage
        else:
            self.so_far = usage

    def counts(self) -> tuple[int | None, int | None, TokenSource | None]:
        """Prompt tokens, output tokens and where the latter came from, the best source first."""
        known = self.final or self.so_far
        prompt = None if known is None else known.prompt_tokens
        if self.final is not None and self.final.completion_tokens is not None:
            return prompt, self.final.completion_tokens, TokenSource.USAGE
        if self.so_far is not None and self.so_far.completion_tokens is not None:
            return prompt, self.so_far.completion_tokens, TokenSource.CONTINUOUS_USAGE
        if self.chunks:
            return prompt, self.chunks, TokenSource.CHUNKS
        return prompt, None, None

    def whole(self, at: float, answer: Chunk) -> None:
        """Take an answer that came in one piece: it has counts, but no first token."""
        timings = answer.timings
        usage = _sane(answer.usage or (timings.as_usage() if timings else None))
        if usage:
            self.final = usage
            self.whole_tokens = usage.completion_tokens or 0
            if self._on_tokens is not None and self.whole_tokens:
                self._on_tokens(at, self.whole_tokens)


def _sane(usage: Usage | None) -> Usage | None:
    """The usage without counts that can't be."""
    if usage is None:
        return None
    return Usage(_count(usage.prompt_tokens), _count(usage.completion_tokens))


def _count(said: int | None) -> int | None:
    return said if said is not None and 0 <= said <= MOST_TOKENS else None
