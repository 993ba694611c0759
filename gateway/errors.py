"""Refusals in OpenAI's error shape, each with a code that a program can act on."""

from __future__ import annotations

import math
from typing import Any

import msgspec

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "invalid_request_error",
    405: "invalid_request_error",
    408: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
    431: "invalid_request_error",
}


class Refusal(Exception):  # noqa: N818 - reads as what happened
    """The gateway's own answer instead of an engine's."""

    def __init__(
        self, status: int, code: str, message: str, *, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after

    @property
    def retry_after_ms(self) -> int | None:
        """Whole milliseconds, never less than was meant."""
        return None if self.retry_after is None else math.ceil(self.retry_after * 1e3)

    def headers(self) -> tuple[tuple[str, str], ...]:
        """``Retry-After`` in whole seconds, never less than the body says."""
        if self.retry_after_ms is None:
            return ()
        return (("Retry-After", str(-(-self.retry_after_ms // 1000))),)

    def body(self) -> bytes:
        """The JSON body."""
        error: dict[str, Any] = {
            "message": self.message,
            "type": _TYPES.get(self.status, "server_error"),
            "param": None,
            "code": self.code,
        }
        if self.retry_after_ms is not None:
            error["retry_after_ms"] = self.retry_after_ms
        return msgspec.json.encode({"error": error})


def event(refusal: Refusal) -> bytes:
    """The same as an event, for a stream that has begun."""
    return b"data: " + refusal.body() + b"\n\n"
