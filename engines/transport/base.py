"""What a transport is: it carries one request at a time and stamps bytes as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engines.transport.kernel_clock import ReceiveLag
from measurement.outcome import Outcome

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """Method, URL, headers and body; the transport adds Host, length and Accept-Encoding."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Ending:
    """How an exchange ended: ``outcome`` None means that the whole message came."""

    at: float
    outcome: Outcome | None = None
    reason: str = ""


class Sink(Protocol):
    """Who takes what arrives. ``at`` was read when the bytes came, before anything parsed them."""

    def on_sent(self, at: float) -> None:
        """The request's first byte is being handed to the socket."""

    def on_head(self, status: int, headers: Mapping[str, str]) -> None:
        """Status and headers, names in lower case."""

    def on_body(self, at: float, data: bytes) -> None:
        """Body bytes, decoded of chunking and compression; everything one read brought."""


class PatientSink(Protocol):
    """A sink that may be told of several reads together, once it ``waits``.

    Their times are those at which they came. What ends an answer is handed on at once all the same.
    """

    @property
    def waits(self) -> bool:
        """Whether nothing depends on the very next bytes."""
        ...

    def on_bodies(self, ats: Sequence[float], pieces: Sequence[bytes]) -> None:
        """Body bytes of several reads, in order: as ``on_body`` of each."""


def _nothing() -> None:
    """No carrier has it yet."""


class Exchange:
    """One request under way. Whoever knows first how it ends says so; later words are ignored."""

    __slots__ = (
        "abort", "carrier", "clock", "connect_within", "ended", "patient", "request", "settle",
        "sink",
    )  # fmt: skip

    def __init__(
        self,
        request: HttpRequest,
        sink: Sink,
        clock: Clock,
        *,
        connect_within: float,
        patient: PatientSink | None = None,
    ) -> None:
        self.request = request
        self.sink = sink
        self.clock = clock
        self.connect_within = connect_within
        self.patient = patient
        self.settle: Callable[[], None] = _nothing
        """Hands on what the carrier has read and held back."""
        self.abort: Callable[[], None] = _nothing
        """Closes the carrier's connection at once, for who began this and won't wait for it."""
        self.carrier: Any = None
        """What its transport has begun it on."""
        self.ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

    def end(self, outcome: Outcome | None, reason: str = "", *, at: float | None = None) -> None:
        """End it now; the transport drops the connection when the message is not whole."""
        if not self.ended.done():
            ended_at = self.clock() if at is None else at
            self.ended.set_result(Ending(ended_at, outcome, reason))

    def renew(self) -> None:
        """Forget how it ended: the request is sent once more."""
        self.ended = asyncio.get_running_loop().create_future()

    def defect(self, error: Exception) -> None:
        """A fault of our own in a sink: it comes out of the call, and hides as no outcome."""
        if not self.ended.done():
            self.ended.set_exception(error)


class Transport(Protocol):
    """Carries exchanges. A failure is an Ending, never an exception; cancelling closes at once."""

    async def prepare(self, url: str) -> None:
        """Resolve and check a URL ahead of the first request; EgressDenied when forbidden."""

    def begin(self, exchange: Exchange) -> bool:
        """Send the request now, if that takes no waiting; False: nothing was done.

        Whoever begins one goes on with ``exchange``, or else aborts it.
        """
        ...

    async def exchange(self, exchange: Exchange) -> Ending:
        """Send the request, unless it was begun; feed the sink, say how it ended."""

    async def close(self) -> None:
        """Close every connection."""


class MeasuringTransport(Transport, Protocol):
    """A transport that says what it did."""

    @property
    def dialled(self) -> int:
        """Connections opened so far."""
        ...

    def receive_lag(self) -> ReceiveLag | None:
        """How late bytes were read, where the kernel's stamps tell."""
        ...

    def between(self, look: Callable[[], None]) -> None:
        """Have it called between two pieces of reading, where those are many at a time."""
        ...

    async def settle(self) -> None:
        """Hand on what has been read and held back."""
