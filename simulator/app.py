"""The engine's HTTP interface: which route does what."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from documents.parse import build
from documents.problem import DocumentError
from simulator.answering import Answering
from simulator.ask import Ask, Reader
from simulator.core.engine import Engine, QueueFull
from simulator.core.request import Request
from simulator.core.step import Step
from simulator.errors import ApiError
from simulator.faults import Fault, Faults
from simulator.frames import Shape
from simulator.http.exchange import Exchange
from simulator.http.message import HttpRequest
from simulator.lag import LagWatch
from simulator.metrics import EngineMetrics
from simulator.realtime import CallAt, Listener, RealTimeHost
from simulator.struck import Broken, Delayed
from simulator.text import Ending, ending
from simulator.text_content import TextContent

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LATE_S = 0.1
LATE_AGAIN_S = 10.0

log = logging.getLogger("headway.engine")


@dataclass(frozen=True, slots=True)
class Identity:
    """What the server calls itself."""

    model: str
    version: str
    started_at: int
    """Unix seconds."""


class EngineApp:
    """One engine behind HTTP. Called with each request; answers through the exchange."""

    def __init__(
        self,
        engine: Engine,
        identity: Identity,
        faults: Faults,
        *,
        seed: int,
        clock: Callable[[], float],
        call_at: CallAt,
    ) -> None:
        self.host = RealTimeHost(engine, clock=clock, call_at=call_at, on_step=self._stepped)
        self._identity = identity
        self._clock = clock
        self._metrics = EngineMetrics(
            model=identity.model, max_model_len=engine.config.max_model_len
        )
        self._lag = LagWatch()
        self._late_said_at = -LATE_AGAIN_S
        self._reader = Reader(identity.model, engine.config.max_model_len, seed)
        self._asked = 0
        self._faults = faults
        self._frozen = ""
        self._set_faults(faults)
        self._routes: dict[tuple[str, str], Callable[[HttpRequest, Exchange], None]] = {
            ("POST", "/v1/chat/completions"): self._chat,
            ("POST", "/v1/completions"): self._completion,
            ("GET", "/v1/models"): self._models,
            ("GET", "/health"): self._health,
            ("GET", "/ping"): self._health,
            ("GET", "/version"): self._version,
            ("GET", "/metrics"): self._metrics_page,
            ("POST", "/reset_prefix_cache"): self._reset_prefix_cache,
            ("GET", "/faults"): self._show_faults,
            ("POST", "/faults"): self._change_faults,
        }

    def __call__(self, request: HttpRequest, exchange: Exchange) -> None:
        try:
            self._route(request)(request, exchange)
        except ApiError as error:
            retry = error.retry_after
            headers = () if retry is None else (("retry-after", f"{retry:g}"),)
            exchange.respond(error.status, error.body(), headers=headers)
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            exchange.respond(500, ApiError(500, "Internal server error").body())

    def _route(self, request: HttpRequest) -> Callable[[HttpRequest, Exchange], None]:
        route = self._routes.get((request.method, request.path))
        if route is not None:
            return route
        if any(path == request.path for _, path in self._routes):
            raise ApiError(405, f"{request.method} is not taken at {request.path}")
        raise ApiError(404, f"Nothing is at {request.path}")

    def _chat(self, request: HttpRequest, exchange: Exchange) -> None:
        self._complete(self._reader.chat(request.body), exchange)

    def _completion(self, request: HttpRequest, exchange: Exchange) -> None:
        self._complete(self._reader.completion(request.body), exchange)

    def _complete(self, ask: Ask, exchange: Exchange) -> None:
        index = self._asked
        self._asked += 1
        fault = self._faults.strike(index)
        if fault is Fault.RATE_LIMIT:
            raise ApiError(429, "Too many requests", retry_after=self._faults.retry_after_s)
        if fault is Fault.SERVER_ERROR:
            raise ApiError(500, "Internal server error (a fault on purpose)")
        prefix = "chatcmpl" if ask.chat else "cmpl"
        name = f"{prefix}-{ask.key:08x}{index:08x}"
        ends = ending(ask.key, ask.wanted)
        shape = Shape(name, int(time.time()), self._identity.model, ask.chat)
        answering = Answering(exchange, ask, ends, shape)

        def leave() -> None:
            if self.host.abort(name):
                self._metrics.aborted()

        def done() -> None:
            self._metrics.answered(ends.reason, ask.wanted.max_tokens)

        listener = self._struck(fault, answering, exchange, ends.tokens // 2, ask, leave)
        try:
            self.host.submit(_request(name, ask, ends), _Counted(listener, done))
        except QueueFull as refusal:
            self._metrics.refused(refusal.reason)
            raise ApiError(503, f"The engine is full: {refusal}.") from None
        exchange.on_gone = leave
        if ask.stream:
            exchange.start()

    def _struck(
        self,
        fault: Fault | None,
        answering: Answering,
        exchange: Exchange,
        half: int,
        ask: Ask,
        leave: Callable[[], None],
    ) -> Listener:
        if fault in (Fault.ERROR_FRAME, Fault.DISCONNECT):
            return Broken(answering, exchange, fault, half, ask.stream, leave)
        if fault in (Fault.STALL, Fault.SLOW):
            return Delayed(answering, fault, self._faults, half=half)
        return answering

    def _models(self, request: HttpRequest, exchange: Exchange) -> None:  # noqa: ARG002
        model = {
            "id": self._identity.model,
            "object": "model",
            "created": self._identity.started_at,
            "owned_by": "headway",
            "root": self._identity.model,
            "parent": None,
            "max_model_len": self._reader.max_model_len,
        }
        _json(exchange, {"object": "list", "data": [model]})

    def _health(self, request: HttpRequest, exchange: Exchange) -> None:  # noqa: ARG002
        exchange.respond(200, b"")

    def _version(self, request: HttpRequest, exchange: Exchange) -> None:  # noqa: ARG002
        _json(exchange, {"version": self._identity.version})

    def _metrics_page(self, request: HttpRequest, exchange: Exchange) -> None:  # noqa: ARG002
        if self._faults.metrics == "missing":
            raise ApiError(404, "Nothing is at /metrics (a fault on purpose)")
        text = self._frozen if self._faults.metrics == "frozen" else self._render()
        exchange.respond(200, text.encode(), METRICS_TYPE)

    def _render(self) -> str:
        host = self.host
        return self._metrics.render(host.engine, host.step, self._lag, self._clock())

    def _reset_prefix_cache(self, request: HttpRequest, exchange: Exchange) -> None:  # noqa: ARG002
        """Only what nobody uses is forgotten, so requests that run keep what they have."""
        self.host.engine.pool.forget()
        exchange.respond(200, b"")

    def _show_faults(self, request: HttpRequest, exchange: Exchange) -> None:  # noqa: ARG002
        _json(exchange, self._faults.to_document())

    def _change_faults(self, request: HttpRequest, exchange: Exchange) -> None:
        """The whole document each time: what it leaves out is at its default."""
        try:
            self._set_faults(build(Faults, msgspec.json.decode(request.body or b"{}")))
        except msgspec.DecodeError as error:
            raise ApiError(400, f"The body is not JSON: {error}") from None
        except DocumentError as error:
            raise ApiError(400, str(error), param=error.problems[0].path or None) from None
        _json(exchange, self._faults.to_document())

    def _set_faults(self, faults: Faults) -> None:
        if faults.metrics == "frozen" and not self._frozen:
            self._frozen = self._render()
        elif faults.metrics != "frozen":
            self._frozen = ""
        self._faults = faults

    def _stepped(self, step: Step, lag: float) -> None:
        self._metrics.stepped(step, lag)
        now = self._clock()
        self._lag.saw(now, lag)
        if lag > LATE_S and now - self._late_said_at >= LATE_AGAIN_S:
            self._late_said_at = now
            log.warning("behind: tokens are %.0f ms later than the model has them", lag * 1e3)


@dataclass(slots=True)
class _Counted:
    """Counts a request as answered when the engine is through with it."""

    inner: Listener
    done: Callable[[], None]

    def token(self, *, last: bool) -> None:
        if last:
            self.done()
        self.inner.token(last=last)


def _request(name: str, ask: Ask, ends: Ending) -> Request:
    """What the engine is asked; it may say as much as was allowed, and will say what it ends at."""
    return Request(
        name,
        ask.prompt_tokens,
        ends.tokens,
        TextContent(ask.tokens, ask.key),
        max_tokens=ask.wanted.max_tokens,
    )


def _json(exchange: Exchange, document: dict[str, Any]) -> None:
    exchange.respond(200, json.dumps(document).encode())
