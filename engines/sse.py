"""Server-sent events, read as they come: any split of the bytes gives the same events.

The rules are the WHATWG standard's (HTML, §9.2.6): CR, LF and CRLF line ends, one leading BOM,
comments, ``event``, ``id``, ``retry``, several ``data`` lines, an optional space after the colon,
and no event for an unfinished block at the end. Data stays bytes: an event holds whole lines, so
a character split over two reads needs no care.
"""

from __future__ import annotations

import re
from typing import NamedTuple

DEFAULT_LIMIT = 8 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_SPACE = 0x20
_LINE_END = re.compile(rb"\r\n|\n|\r")


class SseError(ValueError):
    """A stream that can't be an event stream for us: one event grew over the limit."""


class Event(NamedTuple):
    """One dispatched event."""

    data: bytes
    type: str = "message"
    last_id: str = ""


class SseParser:
    """Feed bytes, get events. ``retry`` holds the last reconnection time in milliseconds."""

    __slots__ = (
        "_at_start", "_between", "_data", "_event", "_held", "_limit", "_line", "_skip_lf",
        "last_id", "retry",
    )  # fmt: skip

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._at_start = True
        self._between = True
        """No line and no field is pending: the next byte begins a block."""
        self._skip_lf = False
        self._line = bytearray()
        self._data: list[bytes] = []
        self._held = 0
        self._event = ""
        self.last_id = ""
        self.retry: int | None = None

    @property
    def between(self) -> bool:
        """Whether the next byte begins an event of its own, and nothing is left of those before."""
        return self._between and not self._at_start

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that these bytes complete."""
        events: list[Event] = []
        if self._at_start and not self._line and chunk and chunk[0] != _BOM[0]:
            self._at_start = False
        whole = self.between and len(chunk) <= self._limit
        if whole and b"\r" not in chunk:
            self._feed_blocks(chunk, events)
        elif chunk:
            self._feed_lines(chunk, events)
        return events

    def _feed_blocks(self, chunk: bytes, events: list[Event]) -> None:
        """The fast path: whole blocks with LF ends, most of them one ``data`` line."""
        if chunk.find(b"\n") == len(chunk) - 2 and chunk[:5] == b"data:" and chunk[-1:] == b"\n":
            events.append(
                Event(chunk[6 if chunk[5] == _SPACE else 5 : -2], "message", self.last_id)
            )
            return
        head, end, tail = chunk.rpartition(b"\n\n")
        if end:
            for block in head.split(b"\n\n"):
                if block[:5] == b"data:" and b"\n" not in block:
                    data = block[6:] if block[5:6] == b" " else block[5:]
                    events.append(Event(data, "message", self.last_id))
                else:
                    for line in block.split(b"\n"):
                        self._take(line, events)
                    self._dispatch(events)
        if tail:
            self._feed_lines(tail, events)

    def _feed_lines(self, chunk: bytes, events: list[Event]) -> None:
        """The thorough path: any line ends, any split."""
        if self._at_start:
            chunk = self._without_bom(chunk)
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if b"\n" in chunk or b"\r" in chunk:
            text = bytes(self._line) + chunk
            self._line.clear()
            self._skip_lf = text.endswith(b"\r")
            *lines, rest = _LINE_END.split(text)
            for line in lines:
                self._hold(len(line))
                self._take(line, events)
            self._line += rest
        else:
            self._line += chunk
        self._hold(len(self._line))
        self._between = not (self._line or self._data or self._event or self._skip_lf)

    def _without_bom(self, chunk: bytes) -> bytes:
        """The chunk behind a leading BOM; b"" while it may still become one."""
        head = bytes(self._line) + chunk
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._line += chunk
            return b""
        self._at_start = False
        self._line.clear()
        return head.removeprefix(_BOM)

    def _take(self, line: bytes, events: list[Event]) -> None:
        if not line:
            self._dispatch(events)
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._held += len(value) + 1
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                self.last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry = int(value)

    def _dispatch(self, events: list[Event]) -> None:
        if self._data:
            event = Event(b"\n".join(self._data), self._event or "message", self.last_id)
            events.append(event)
            self._data = []
            self._held = 0
        self._event = ""

    def _hold(self, more: int) -> None:
        if self._held + more > self._limit:
            raise SseError(f"an event of the stream grew over {self._limit:,} bytes")
