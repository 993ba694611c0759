"""Outcomes: the closed list of what can become of an offered request."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """What became of one request. Exactly one holds for each offered request in the end."""

    OK = "ok"
    TRUNCATED = "truncated"
    """Finished by the length that was asked for: a success."""
    REJECTED_429 = "rejected_429"
    REJECTED_503 = "rejected_503"
    SHED = "shed"
    """Refused by our own policy, never sent."""
    HTTP_4XX = "http_4xx"
    HTTP_5XX = "http_5xx"
    IN_BAND_ERROR = "in_band_error"
    """HTTP 200 with an error frame or an error body."""
    INCOMPLETE = "incomplete"
    """The stream was cut before its end."""
    EMPTY = "empty"
    """A clean end with no token of any channel."""
    MALFORMED = "malformed"
    """Bytes that are no answer of the protocol: HTML with 200, broken JSON, broken HTTP."""
    CONNECT = "connect"
    TLS = "tls"
    DNS = "dns"
    TIMEOUT_CONNECT = "timeout_connect"
    TIMEOUT_FIRST_TOKEN = "timeout_first_token"  # noqa: S105 - a time-out's name, no password
    TIMEOUT_IDLE = "timeout_idle"
    TIMEOUT_TOTAL = "timeout_total"
    CANCELLED = "cancelled"
    """Given up because the user stopped the run."""
    UNFINISHED = "unfinished"
    """Still open at the drain deadline."""
    DROPPED = "dropped"
    """Not sent for a cause of the client's own: more than one second late, or its machine lacks a
    descriptor or a port for the connection; makes the run invalid."""

    @property
    def success(self) -> bool:
        """Whether the caller got the answer that was asked for."""
        return self is Outcome.OK or self is Outcome.TRUNCATED


class TokenSource(StrEnum):
    """Where a token count came from, best first."""

    USAGE = "usage"
    CONTINUOUS_USAGE = "continuous_usage"
    TOKENIZER = "tokenizer"
    CHUNKS = "chunks"
