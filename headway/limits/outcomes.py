"""What an exception of somebody's client says: refused, timed out, or failed otherwise.

Clients are read by their shape, so none of them is imported: openai has ``status_code`` and
``response.headers``, aiohttp ``status`` and ``headers``, httpx ``response.status_code``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from engines.headers import retry_after
from schedulers.concurrency.base import OutcomeKind
from schedulers.runtime.retrying import Failed

REFUSALS = (429, 503)
AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may do better."""


def of_status(status: int, headers: Mapping[str, str] | None = None) -> Failed | None:
    """None for a success."""
    if status < 400:
        return None
    wait = None if headers is None else retry_after(_lowered(headers), time.time)
    kind = OutcomeKind.REJECTED if status in REFUSALS else OutcomeKind.FAILED
    return Failed(kind=kind, retry_after=wait, safe=status in AGAIN)


def of_error(error: BaseException) -> Failed:
    """How an attempt that raised has failed."""
    if isinstance(error, asyncio.CancelledError):
        return Failed(kind=OutcomeKind.CANCELLED, safe=False)
    status = _status(error)
    if status is not None and (found := of_status(status, _headers(error))) is not None:
        return found
    if isinstance(error, TimeoutError) or "timeout" in type(error).__name__.lower():
        return Failed(kind=OutcomeKind.TIMED_OUT)
    # A connection that breaks may do better next time; a fault in the caller's own code won't.
    broken = isinstance(error, OSError) or "connection" in type(error).__name__.lower()
    return Failed(kind=OutcomeKind.FAILED, safe=broken)


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for holder in (error, response):
        for name in ("status_code", "status"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None


def _headers(error: BaseException) -> Mapping[str, str] | None:
    response: Any = getattr(error, "response", None)
    for holder in (response, error):
        headers = getattr(holder, "headers", None)
        if isinstance(headers, Mapping):
            return headers
    return None


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in headers.items()}
