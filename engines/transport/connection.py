"""One HTTP/1.1 connection: an asyncio protocol around the httptools parser.

The clock is read first thing in ``data_received``, or the kernel has stamped the bytes. What the
parser finds in one read is gathered and handed on afterwards, so that a sink never runs inside the
parser.

Once a stream runs, and its sink is patient, most reads wait to be parsed together (``held``): that
costs a fraction. What may end an answer never waits, nor does anything before it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import cast

import httptools

from engines.transport.base import Exchange
from engines.transport.decoding import BodyDecoder, DecodingError
from engines.transport.held import BACK, FRONT, LONGEST_HELD, MOST_HELD, Held, is_like, may_wait
from measurement.outcome import Outcome

HEAD_LIMIT = 64 * 1024

_TIMEOUT = re.compile(r"timeout=(\d+)")


class Connection(asyncio.Protocol):
    """Carries one exchange at a time. ``reusable`` when it is at rest and may carry another."""

    def __init__(self, on_lost: Callable[[Connection], None]) -> None:
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._parts: list[bytes] = []
        self.on_body: Callable[[bytes], None] = self._parts.append
        """httptools' call, for each piece of the body."""
        self.held: Held | None = None
        """Reads that wait, each with its stamp; None while nothing may wait."""
        self.times_of: Callable[[Held], Sequence[float]] = _as_they_are
        """Turns the stamps of what was held into times."""
        self._front = self._back = b""
        """Of the last read that was looked through, and found to be one that may wait."""
        self._seen: Held | None = None
        self._fault = ""
        self._parser = httptools.HttpResponseParser(self)
        self._exchange: Exchange | None = None
        self._answered = False
        self.served = 0
        """Exchanges that it has carried to their end."""
        self.stale = False
        """The server had closed it before it took the request that was sent on it."""
        self.reusable = False
        self.idle_limit: float | None = None
        """Seconds that the server says it keeps an idle connection."""
        self._on_rest: Callable[[Connection], None] | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._begin()

    def _begin(self) -> None:
        self._headers: dict[str, str] = {}
        self._head_size = 0
        self._head_ready = False
        self._parts.clear()
        self.held = None
        self._may_hold = False
        self._complete = False
        self._until_close = False
        self._decoder: BodyDecoder | None = None

    # What the owner does with it

    def start(self, exchange: Exchange, request: bytes) -> None:
        """Send a request. Stamped just before the write, and told after it: what is noted of one
        request must not hold up the next."""
        self._begin()
        self._exchange = exchange
        self._answered = False
        self.reusable = False
        if self._transport is None:  # closed by the server as soon as it was open
            exchange.end(Outcome.INCOMPLETE, "closed before the request was sent")
            return
        exchange.settle, exchange.abort = self.settle, self.abort
        at = exchange.clock()
        self._transport.write(request)
        exchange.sink.on_sent(at)

    def abort(self) -> None:
        """Close at once; an exchange that is still open ends with it."""
        self.settle()
        exchange, self._exchange = self._exchange, None
        self.reusable = False
        if exchange is not None:
            exchange.end(Outcome.INCOMPLETE, "our side closed the connection")
        if self._transport is not None:
            self._transport.abort()

    def finish_alone(self, on_rest: Callable[[Connection], None], *, within: float) -> None:
        """The caller has its answer; read the message to its end, then say that it may rest.

        Closed when the end has not come in time: a connection is cheap, a late caller is not.
        """
        self._on_rest = on_rest
        self._linger = asyncio.get_running_loop().call_later(within, self.abort)

    @property
    def unfinished(self) -> bool:
        """Whether the message it carries has not come to its end."""
        return self._exchange is not None

    @property
    def closing(self) -> bool:
        """Whether it is closed or about to be."""
        return self._transport is None or self._transport.is_closing()

    # asyncio's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        exchange = self._exchange
        at = 0.0 if exchange is None else exchange.clock()
        held = self.held
        if held is not None and self._waits(data):
            held.data.append(data)
            held.stamps.append(at)
            if len(held.data) >= MOST_HELD:
                self.settle()
        else:
            self.take(data, at)

    def _waits(self, data: bytes) -> bool:
        if is_like(data, self._front, self._back) and len(data) <= LONGEST_HELD:
            return True
        found = may_wait(data)
        if found:
            self._front, self._back = data[FRONT], data[BACK]
        return found

    def settle(self) -> None:
        """Parse what was held, and hand it on."""
        held, exchange = self.held, self._exchange
        if held is None or not held.data or exchange is None:
            return
        self.held = Held()
        times, parts = self.times_of(held), self._parts
        ats, at, fault = times, times[-1], ""
        reached = self._parse_all(held.data)
        if self._fault or reached != list(range(1, len(times) + 1)):
            # Not one piece a read, or one of them has ended it all.
            fault, self._fault = self._fault, ""
            at = times[len(reached) - 1]
            steps = zip(times, [0, *reached], reached, strict=False)
            ats = [when for when, before, after in steps for _ in range(before, after)]
        try:
            if parts and exchange.patient is not None:
                exchange.patient.on_bodies(ats, parts)
        except Exception as error:  # noqa: BLE001 - a sink's defect belongs to the caller
            exchange.defect(error)
            return
        finally:
            parts.clear()
        self._conclude(exchange, at, fault)

    def overdue(self) -> bool:
        """Whether what is held was held when this was last asked."""
        held, seen = self.held, self._seen
        self._seen = held
        return held is not None and bool(held.data) and held is seen

    def take(self, data: bytes, at: float) -> None:
        """Bytes that arrived ``at``, by the event loop's reading or the kernel's own stamp."""
        if self.held is not None and self.held.data:
            self.settle()
        exchange = self._exchange
        if exchange is None:  # nobody asked: it can't be told apart from the next answer
            self.abort()
            return
        self._answered = True
        fault = self._parse(data)
        try:
            self._hand_on(exchange, at)
        except DecodingError as error:
            exchange.end(Outcome.MALFORMED, str(error), at=at)
        except Exception as error:  # noqa: BLE001 - a sink's defect belongs to the caller
            exchange.defect(error)
            return
        self._conclude(exchange, at, fault)

    def _parse_all(self, held: Sequence[bytes]) -> list[int]:
        """How many pieces of the body there were behind each read; short where one ended it all."""
        feed, parts = self._parser.feed_data, self._parts
        reached: list[int] = []
        try:
            for data in held:
                feed(data)
                reached.append(len(parts))
                if self._complete:
                    break
        except (httptools.HttpParserUpgrade, httptools.HttpParserError) as error:
            self._fault = _fault_of(error)
            reached.append(len(parts))
        return reached

    def _parse(self, data: bytes) -> str:
        """What is wrong with it; "" where nothing is."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserUpgrade, httptools.HttpParserError) as error:
            return _fault_of(error)
        return ""

    def _conclude(self, exchange: Exchange, at: float, fault: str) -> None:
        """What bytes that came ``at`` have ended."""
        if self._complete:
            self._finish(exchange, at, clean=not fault)
        elif fault:
            exchange.end(Outcome.MALFORMED, fault, at=at)
        elif self._may_hold and self.held is None and exchange.patient is not None:
            self.held = Held() if exchange.patient.waits else None

    def connection_lost(self, exc: Exception | None) -> None:
        self.settle()
        self._transport = None
        self.reusable = False
        self._stop_lingering()
        exchange, self._exchange = self._exchange, None
        self._on_lost(self)
        if exchange is None:
            return
        if not self._answered:
            self.stale = self.served > 0
            exchange.end(Outcome.INCOMPLETE, f"closed before any answer{_because(exc)}")
        elif self._until_close and exc is None:
            exchange.end(None)
        else:
            exchange.end(Outcome.INCOMPLETE, f"closed before the end of the answer{_because(exc)}")

    # httptools' calls

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value)
        if self._head_size > HEAD_LIMIT:
            raise ValueError(f"headers over {HEAD_LIMIT:,} bytes")
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self._headers.get(key)
        self._headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # 100 Continue, 103 Early Hints: the answer is still to come
            self._headers = {}
            return
        self._head_ready = True
        headers = self._headers
        chunked = "chunked" in headers.get("transfer-encoding", "")
        self._until_close = not (chunked or "content-length" in headers or status in (204, 304))
        self._decoder = BodyDecoder.of(headers.get("content-encoding", ""))
        # A body of a known length may end anywhere; a chunked one ends with a chunk of its own.
        self._may_hold = chunked and status == 200 and self._decoder is None

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() >= 200:
            self._complete = True
            self.reusable = self._parser.should_keep_alive()

    def on_message_begin(self) -> None:
        if self._complete:
            raise ValueError("a second answer to one request")

    # From one to the other

    def _hand_on(self, exchange: Exchange, at: float) -> None:
        if self._head_ready:
            self._head_ready = False
            exchange.sink.on_head(self._parser.get_status_code(), self._headers)
        if self._parts:
            body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts.clear()
            if self._decoder is not None:
                body = self._decoder.decode(body)
            exchange.sink.on_body(at, body)

    def _finish(self, exchange: Exchange, at: float, *, clean: bool) -> None:
        self._exchange = None
        self.held = None
        self.served += 1
        self.reusable = self.reusable and clean
        if found := _TIMEOUT.search(self._headers.get("keep-alive", "")):
            self.idle_limit = float(found[1])
        exchange.end(None, at=at)
        on_rest, self._on_rest = self._on_rest, None
        if on_rest is not None:
            self._stop_lingering()
            on_rest(self)

    def _stop_lingering(self) -> None:
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None


def _as_they_are(held: Held) -> Sequence[float]:
    return held.stamps


def _fault_of(error: Exception) -> str:
    if isinstance(error, httptools.HttpParserUpgrade):
        return "the server wants to switch protocols"
    return f"no HTTP/1.1 answer: {error.__context__ or error}"


def _because(exc: Exception | None) -> str:
    return f": {exc}" if exc is not None else ""
