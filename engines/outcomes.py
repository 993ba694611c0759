"""From what came to an outcome of the closed list, and the bytes that explain a failure."""

from __future__ import annotations

from collections.abc import Mapping

from engines.openai import NotJson, decode
from engines.reading import Reading
from engines.transport.base import Ending
from measurement.outcome import Outcome

RETRIED = frozenset({Outcome.REJECTED_429, Outcome.REJECTED_503, Outcome.HTTP_5XX, Outcome.CONNECT})
"""Outcomes after which trying again can help and does no work twice."""

Found = tuple[Outcome, bytes]


def outcome_of(
    status: int | None, headers: Mapping[str, str], reading: Reading, ending: Ending
) -> Found:
    """What became of a request, and why, in bytes for the excerpt.

    An error status decides, even when its body was cut. Then what the answer itself said, then
    how the connection ended, and last whether anything was generated.
    """
    if status is not None and not 200 <= status < 300:
        return _by_status(status, headers, bytes(reading.text))
    if reading.failure is not None:
        return reading.failure, reading.why
    if ending.outcome is not None and not reading.done:
        return ending.outcome, ending.reason.encode()
    if reading.streamed:
        return _streamed(reading)
    return _whole(reading, ending)


def _by_status(status: int, headers: Mapping[str, str], body: bytes) -> Found:
    if status < 400:
        where = headers.get("location", "nowhere")
        return Outcome.MALFORMED, f"HTTP {status} to {where}: redirects are not followed".encode()
    why = body or f"HTTP {status} without a body".encode()
    special = {429: Outcome.REJECTED_429, 503: Outcome.REJECTED_503}
    other = Outcome.HTTP_4XX if status < 500 else Outcome.HTTP_5XX
    return special.get(status, other), why


def _streamed(reading: Reading) -> Found:
    if not reading.done and reading.finish_reason is None:
        if reading.events:
            return Outcome.INCOMPLETE, b"the stream ended without a finish reason or [DONE]"
        return Outcome.EMPTY, b"the stream held no event"
    if not reading.chunks:
        return Outcome.EMPTY, b"the stream held no token"
    return _finished(reading.finish_reason)


def _finished(reason: str | None) -> Found:
    """The engine's own word on how generation ended; most words are a good end."""
    if reason == "length":
        return Outcome.TRUNCATED, b""
    if reason == "error":
        return Outcome.IN_BAND_ERROR, b"finish_reason error"
    if reason == "abort":
        return Outcome.INCOMPLETE, b"finish_reason abort"
    return Outcome.OK, b""


def _whole(reading: Reading, ending: Ending) -> Found:
    """An answer that is no stream."""
    body = bytes(reading.text)
    if not body.strip():
        return Outcome.EMPTY, b"HTTP 200 without a body"
    try:
        answer = decode(body)
    except NotJson:
        return Outcome.MALFORMED, body
    if answer.failed:
        return Outcome.IN_BAND_ERROR, body
    if answer.choices is None:
        return Outcome.MALFORMED, body
    reading.whole(ending.at, answer)
    return _finished(answer.finish_reason) if answer.channels() else (Outcome.EMPTY, body)
