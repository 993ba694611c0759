"""Tokens and usage of an answer, found without reading the JSON of most events.

The events of one stream differ in one string. Once an event was read and carried text, another
that begins and ends with the same bytes, with no quote between, is the same event with another
text: one token more, for three comparisons. Everything else is read as a load test reads it, and
gives the same numbers.
"""

from __future__ import annotations

import re

from engines.reading import OnTokens, Reading
from engines.transport.decoding import BodyDecoder, DecodingError
from measurement.outcome import Outcome

_TEXT = re.compile(rb'"(?:content|text|reasoning|reasoning_content)"\s*:\s*"(?!")')
_BLOCK = b"data: "
_BACKSLASH = 0x5C
_LEARN = 8
"""Patterns in a row that may prove of no use before a stream is taken to have none."""


class Meter(Reading):
    """A Reading with a short way for events like the last."""

    __slots__ = ("_head", "_answer", "_left", "_tail", "_whole", "_decoder", "short")  # noqa: RUF023 - as they are used

    def __init__(self, on_tokens: OnTokens | None = None) -> None:
        super().__init__(on_tokens)
        self._head = b""
        self._tail = b""
        self._answer = False
        self._left = _LEARN
        self._whole = False
        """All bytes so far are whole events: the next one begins an event."""
        self._decoder: BodyDecoder | None = None
        self.short = 0
        """Events that took the short way."""

    @property
    def between(self) -> bool:
        """Whether the last byte that came ended an event."""
        return self._whole

    def encoded(self, encoding: str) -> None:
        """The body is compressed, though nobody asked: it is passed on so, and read decoded."""
        self._decoder = BodyDecoder.of(encoding)

    def body(self, at: float, data: bytes) -> None:
        """Take body bytes of a 200, as they came."""
        if self._decoder is not None:
            try:
                data = self._decoder.decode(data)
            except DecodingError as error:
                self.fail(at, Outcome.MALFORMED, str(error).encode())
                return
        if self._whole and self._head and data.startswith(_BLOCK) and data.endswith(b"\n\n"):
            end = len(data) - 2
            if data.find(b"\n", 0, end) < 0 and self._same(data, len(_BLOCK), end):
                self._token(at)
                return
        super().body(at, data)
        self._whole = data.endswith(b"\n\n")

    def _event(self, at: float, data: bytes, type_: str) -> None:
        if self._head and type_ == "message" and self._same(data, 0, len(data)):
            self._token(at)
            return
        before, known = self.chunks, self._usages()
        super()._event(at, data, type_)
        if self._left and self.chunks == before + 1 and self._usages() == known:
            self._learn(data)

    def _usages(self) -> tuple[object, object, object]:
        return self.so_far, self.final, self.finish_reason

    def _same(self, data: bytes, start: int, end: int) -> bool:
        """Whether the bytes are the event that was learned, with another text in it."""
        head, tail = self._head, self._tail
        text = start + len(head)
        close = end - len(tail)
        return (
            text < close
            and data.startswith(head, start)
            and data.endswith(tail, start, end)
            and data.find(b'"', text, end) == close
            and data[close - 1] != _BACKSLASH
        )

    def _token(self, at: float) -> None:
        if self.over_at is not None:
            return
        self.short += 1
        self._left = _LEARN
        self.events += 1
        self.event_at = at
        self._tokens(at, None)
        if self._answer and self.first_answer_at is None:
            self.first_answer_at = at

    def _learn(self, data: bytes) -> None:
        self._left -= 1
        found = _TEXT.search(data)
        if found is None:
            return
        close = data.find(b'"', found.end())
        if close < 0 or data[close - 1] == _BACKSLASH:
            return
        self._head, self._tail = data[: found.end()], data[close:]
        self._answer = self.first_answer_at is not None
