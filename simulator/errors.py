"""Errors as an OpenAI-compatible engine answers them."""

from __future__ import annotations

import json

_TYPES = {
    400: "BadRequestError",
    404: "NotFoundError",
    405: "MethodNotAllowedError",
    413: "RequestEntityTooLargeError",
    429: "RateLimitError",
    500: "InternalServerError",
    503: "ServiceUnavailableError",
}


class ApiError(Exception):
    """What is answered instead; ``retry_after`` is seconds of the Retry-After header."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.message = message
        self.param = param
        self.retry_after = retry_after
        super().__init__(message)

    def body(self) -> bytes:
        """The error object of the OpenAI API, with the code that vLLM puts in it."""
        error = {
            "message": self.message,
            "type": _TYPES.get(self.status, "BadRequestError"),
            "param": self.param,
            "code": self.status,
        }
        return json.dumps({"error": error}, ensure_ascii=False).encode()
