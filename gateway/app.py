"""Routes: what is answered here, and what goes through the pipeline."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from gateway.books import Books
from gateway.errors import Refusal
from gateway.http.exchange import Exchange
from gateway.metrics import TYPE, render
from gateway.pipeline import Pipeline
from gateway.routing import Router
from gateway.tenants import KeyRing

log = logging.getLogger("headway.gateway")

PROXIED = frozenset((b"/v1/chat/completions", b"/v1/completions"))


class App:
    """Called with each exchange as its request is whole."""

    def __init__(
        self,
        pipeline: Pipeline,
        router: Router,
        books: Books,
        state: Callable[[], dict[str, float]],
        clock: Callable[[], float],
    ) -> None:
        self._pipeline = pipeline
        self._router = router
        self._books = books
        self._state = state
        self._clock = clock
        self.draining = False
        self.read_keys()
        self._pages: dict[bytes, Callable[[Exchange], None]] = {
            b"/v1/models": self._models,
            b"/health": self._health,
            b"/metrics": self._metrics,
        }

    def read_keys(self) -> None:
        """Take the tenants of the configuration that serves now."""
        config = self._router.config
        self._ring = KeyRing(config.tenants, anonymous=config.anonymous)

    def __call__(self, exchange: Exchange) -> None:
        try:
            self._route(exchange)
        except Refusal as refusal:
            self._books.refusals[refusal.code] += 1
            exchange.respond(refusal.status, refusal.body(), headers=refusal.headers())
        except Exception:
            log.exception("a request could not be taken")
            self._books.refusals["internal_error"] += 1
            failed = Refusal(500, "internal_error", "The gateway failed.")
            exchange.respond(failed.status, failed.body())

    def _route(self, exchange: Exchange) -> None:
        request = exchange.request
        path = request.target.partition(b"?")[0]
        if path in PROXIED:
            if request.method != b"POST":
                raise Refusal(405, "method_not_allowed", "Ask with POST.")
            self._proxy(exchange)
            return
        page = self._pages.get(path)
        if page is None:
            raise Refusal(404, "not_found", "Nothing is here.")
        if request.method != b"GET":
            raise Refusal(405, "method_not_allowed", "Ask with GET.")
        page(exchange)

    def _proxy(self, exchange: Exchange) -> None:
        tenant = self._ring.tenant(exchange.request.header(b"authorization"))
        if tenant is None:
            raise _unknown()
        if self.draining:
            message = "The gateway is shutting down; ask another one."
            raise Refusal(503, "draining", message, retry_after=1.0)
        self._pipeline.take(exchange, tenant)

    def _models(self, exchange: Exchange) -> None:
        if self._ring.tenant(exchange.request.header(b"authorization")) is None:
            raise _unknown()
        names = dict.fromkeys(
            engine.config.model for lane in self._router.lanes.values() for engine in lane.engines
        )
        data = [{"id": n, "object": "model", "created": 0, "owned_by": "headway"} for n in names]
        exchange.respond(200, msgspec.json.encode({"object": "list", "data": data}))

    def _health(self, exchange: Exchange) -> None:
        status, word = (503, "draining") if self.draining else (200, "ok")
        exchange.respond(status, msgspec.json.encode({"status": word}))

    def _metrics(self, exchange: Exchange) -> None:
        text = render(self._books, self._router, self._state(), self._clock())
        exchange.respond(200, text.encode(), TYPE)


def _unknown() -> Refusal:
    message = "The API key is missing or names no tenant."
    return Refusal(401, "invalid_api_key", message)
