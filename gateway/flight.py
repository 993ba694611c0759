"""A request on its way: the engine's bytes to the client, and what they say of the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from engines.headers import retry_after
from engines.outcomes import outcome_of
from engines.reading import ERROR_LIMIT
from engines.transport.base import Ending
from gateway.books import Account
from gateway.config_parts import UpstreamTimeouts
from gateway.errors import Refusal, event
from gateway.http.exchange import Exchange
from gateway.http.message import RawHeaders, end_to_end
from gateway.meter import Meter
from gateway.upstream.connection import UpstreamConnection
from measurement.outcome import Outcome
from measurement.sample import Sample

KEPT_BYTES = 64 * 1024
"""Of an answer that may not be the last one; a longer one is handed on and not tried again."""
_OURS = frozenset(
    (
        b"content-length", b"x-headway-policy", b"x-headway-queue-depth", b"x-headway-queue-ms",
        b"x-headway-pressure",
    )
)  # fmt: skip
"""Headers of an answer that are the gateway's to say."""


@dataclass(slots=True, eq=False)
class Times:
    """When a request got how far, on the gateway's clock."""

    intended_at: float
    admitted_at: float | None = None
    sent_at: float | None = None


class Flight:
    """Takes one answer. ``ended`` is set once, with how the exchange with the engine ended."""

    def __init__(self, exchange: Exchange, account: Account, times: Times) -> None:
        self.exchange = exchange
        self.times = times
        self.headers: RawHeaders = []
        """What the gateway itself says in the answer's head."""
        self._account = account
        self._connection: UpstreamConnection | None = None
        self._fold = account.fold
        self.meter = Meter(self._tokens)
        self.status: int | None = None
        self._answer_headers: RawHeaders = []
        self.may_retry = False
        """An engine's refusal is kept until somebody has said that it is the last answer."""
        self._kept: list[bytes] | None = None
        self._touched = times.intended_at
        self._heard: float | None = None
        self._counted = False
        self.on_first: Callable[[float], None] | None = None
        """Told the seconds from the send to the first token of a streamed answer, when it comes."""
        self.ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

    def send(self, connection: UpstreamConnection, request: bytes) -> None:
        """Send the request; sent once more after a stale connection, it counts once."""
        if self.ended.done():
            self.ended = asyncio.get_running_loop().create_future()
        self._connection = connection
        at = connection.start(self, request)
        self._touched = at
        self.exchange.on_full = connection.pause
        if not self._counted:
            self._counted = True
            self._account.sent(at, again=self.times.sent_at is not None)
            self.times.sent_at = at

    @property
    def intended_at(self) -> float:
        """When the request had come whole."""
        return self.times.intended_at

    @property
    def sent_at(self) -> float | None:
        """When it last began to be sent to an engine."""
        return self.times.sent_at

    @property
    def heard_at(self) -> float | None:
        """When an engine last sent any byte for it."""
        return self._touched if self.status is not None else self._heard

    @property
    def first_token_at(self) -> float | None:
        """When its first token came, where it streams."""
        return self.meter.first_token_at

    def landed(self, at: float) -> None:
        """Nothing more comes; whatever the way here."""
        self.exchange.on_full = None
        if self._counted:
            self._counted = False
            self._account.back(at)

    # The engine's side

    def on_head(self, at: float, status: int, headers: RawHeaders) -> None:
        self._touched = at
        self.status = status
        self._answer_headers = headers
        encoding = _first(headers, b"content-encoding")
        if encoding is not None:
            self.meter.encoded(encoding.decode("latin-1"))
        if self.may_retry and (status == 429 or status >= 500):
            self._kept = []
        else:
            self._start(status)

    def _start(self, status: int) -> None:
        """The answer begins at the client."""
        headers = self._answer_headers
        length = _first(headers, b"content-length")
        self.exchange.start(
            status,
            end_to_end(headers, but=_OURS) + self.headers,
            length=int(length) if length is not None and length.isdigit() else None,
            bodiless=status in (204, 304),
        )

    @property
    def kept(self) -> bool:
        """Whether a refusal has come that no client has seen yet."""
        return self._kept is not None

    def hand_on(self) -> None:
        """The refusal that was kept is the answer, as far as it has come."""
        kept, self._kept = self._kept, None
        if kept is None or self.status is None:
            return
        self._start(self.status)
        for data in kept:
            self.exchange.write(data)

    def finish(self) -> None:
        """No other attempt follows: what was kept is the answer, and it is whole."""
        if self.kept and not self.exchange.begun:
            self.hand_on()
            self.exchange.finish()

    def again(self) -> None:
        """Forget the refusal: another attempt follows."""
        self._heard = self.heard_at
        self._kept = None
        self.status = None
        self._answer_headers = []
        self.meter = Meter(self._tokens)

    def on_body(self, at: float, data: bytes) -> None:
        self._touched = at
        if self._kept is None:
            self.exchange.write(data)
        else:
            self._kept.append(data)
            if sum(len(part) for part in self._kept) > KEPT_BYTES:
                self.hand_on()
        if self.status is not None and 200 <= self.status < 300:
            self.meter.body(at, data)
        else:
            text = self.meter.text
            text += data[: ERROR_LIMIT - len(text)]

    def on_end(self, ending: Ending) -> None:
        if self.ended.done():
            return
        self.ended.set_result(ending)
        if ending.outcome is None and not self.kept:
            self.exchange.finish()
        elif self.exchange.begun:
            self._broken()

    def overdue(self, now: float, timeouts: UpstreamTimeouts) -> None:
        """End it when the engine has taken too long."""
        outcome = self._late(now, timeouts)
        if outcome is not None and self._connection is not None and not self.ended.done():
            self._connection.abort()
            self.on_end(Ending(now, outcome, "the engine took too long"))

    def _late(self, now: float, timeouts: UpstreamTimeouts) -> Outcome | None:
        sent_at = self.times.sent_at
        if sent_at is None:
            return None
        if now - sent_at > timeouts.total_s:
            return Outcome.TIMEOUT_TOTAL
        if self.status is None:
            late = now - self._touched > timeouts.first_byte_s
            return Outcome.TIMEOUT_FIRST_TOKEN if late else None
        # A slow client is no fault of the engine: it has a time-out of its own.
        late = not self.exchange.full and now - self._touched > timeouts.idle_s
        return Outcome.TIMEOUT_IDLE if late else None

    def _broken(self) -> None:
        """The stream broke: an error event where one can stand, and an end that is no clean one."""
        if self.meter.streamed and self.meter.between and not self.meter.done:
            message = "The engine's stream broke off."
            self.exchange.write(event(Refusal(502, "upstream_incomplete", message)))
        self.exchange.cut()

    def _tokens(self, at: float, n: int) -> None:
        self._fold.tokens(at, n)
        meter, sent = self.meter, self.times.sent_at
        if meter.chunks == 1 and meter.first_token_at == at and sent is not None and self.on_first:
            self.on_first(at - sent)

    # What became of it

    def sample(self, index: int, tenant: str, ending: Ending) -> Sample:
        """The sample of a request whose exchange ended."""
        meter, times = self.meter, self.times
        outcome, _ = outcome_of(self.status, self._plain(), meter, ending)
        prompt, output, source = meter.counts()
        streamed = meter.streamed and meter.chunks > 0
        return Sample(
            index=index,
            tenant=tenant,
            intended_at=times.intended_at,
            outcome=outcome,
            handed_at=times.intended_at,
            admitted_at=times.admitted_at,
            sent_at=times.sent_at,
            first_token_at=meter.first_token_at,
            first_answer_at=meter.first_answer_at,
            last_token_at=meter.last_token_at,
            done_at=ending.at if meter.over_at is None else meter.over_at,
            prompt_tokens=prompt,
            output_tokens=output,
            token_source=source,
            first_chunk_tokens=meter.first_chunk_tokens,
            chunks=meter.chunks,
            gaps=tuple(meter.gaps),
            gap_tokens=tuple(meter.gap_tokens) if streamed and meter.continuous else None,
            status=self.status,
            retry_after=retry_after(self._plain(), time.time),
        )

    def given_up(self, index: int, tenant: str, outcome: Outcome, at: float) -> Sample:
        """The sample of a request that was given up: only what was received counts."""
        meter, times = self.meter, self.times
        prompt, output, source = meter.counts()
        return Sample(
            index=index,
            tenant=tenant,
            intended_at=times.intended_at,
            outcome=outcome,
            handed_at=times.intended_at,
            admitted_at=times.admitted_at,
            sent_at=times.sent_at,
            first_token_at=meter.first_token_at,
            first_answer_at=meter.first_answer_at,
            last_token_at=meter.last_token_at,
            done_at=at,
            prompt_tokens=prompt,
            output_tokens=output,
            token_source=source,
            chunks=meter.chunks,
            status=self.status,
        )

    def _plain(self) -> dict[str, str]:
        if self.status is None or 200 <= self.status < 300:
            return {}
        return {n.decode("latin-1"): v.decode("latin-1") for n, v in self._answer_headers}


def _first(headers: RawHeaders, name: bytes) -> bytes | None:
    return next((value for key, value in headers if key == name), None)
