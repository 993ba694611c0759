"""A request that a fault has struck in the middle: stands between the host and its answer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from simulator.errors import ApiError
from simulator.faults import Fault, Faults
from simulator.frames import DONE, error_event
from simulator.http.exchange import Exchange
from simulator.realtime import Listener


@dataclass(slots=True)
class Broken:
    """Breaks the answer after half of its tokens: an error event, or the connection cut."""

    inner: Listener
    exchange: Exchange
    fault: Fault
    half: int
    streamed: bool
    abort: Callable[[], None]
    said: int = 0

    def token(self, *, last: bool) -> None:
        if self.said >= self.half:
            self._break()
            return
        self.said += 1
        self.inner.token(last=last)

    def _break(self) -> None:
        error = ApiError(500, "EngineCore encountered an issue (a fault on purpose).")
        if self.fault is Fault.DISCONNECT:
            self.exchange.cut()
        elif self.streamed:
            self.exchange.write(error_event(error.body()) + DONE)
            self.exchange.finish()
        else:
            self.exchange.respond(500, error.body())
        self.abort()


class Delayed:
    """Holds tokens back: a silence halfway, or each token a little later than the one before."""

    def __init__(self, inner: Listener, fault: Fault, faults: Faults, *, half: int) -> None:
        self._inner = inner
        self._stalls = fault is Fault.STALL
        self._faults = faults
        self._half = half
        self._loop = asyncio.get_running_loop()
        self._held: deque[bool] = deque()
        self._seen = 0
        self._stalled_until = 0.0

    def token(self, *, last: bool) -> None:
        delay = self._delay()
        self._seen += 1
        if delay <= 0 and not self._held:
            self._inner.token(last=last)
            return
        self._held.append(last)
        self._loop.call_later(max(0.0, delay), self._let_go)

    def _delay(self) -> float:
        if not self._stalls:
            return self._seen * self._faults.slow_ms / 1e3
        now = self._loop.time()
        if self._seen == self._half:
            self._stalled_until = now + self._faults.stall_s
        return self._stalled_until - now

    def _let_go(self) -> None:
        self._inner.token(last=self._held.popleft())
