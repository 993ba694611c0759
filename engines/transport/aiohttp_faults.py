"""What aiohttp raises, as outcomes of the closed list in the words of our own client."""

from __future__ import annotations

from urllib.parse import urlsplit

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from engines.transport.base import Exchange
from engines.transport.decoding import DecodingError
from engines.transport.dial import lacking
from measurement.outcome import Outcome

Said = tuple[Outcome, str]


def ending_of(error: Exception, exchange: Exchange, *, answered: bool) -> Said | None:
    """The outcome and its reason; None for what is no fault of the exchange."""
    where = urlsplit(exchange.request.url).netloc
    if isinstance(error, DecodingError):
        return Outcome.MALFORMED, str(error)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        within = exchange.connect_within
        return Outcome.TIMEOUT_CONNECT, f"no connection to {where} within {within:g} s"
    if isinstance(error, _UNCONNECTED):
        return _unconnected(error, where)
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ClientResponseError):
        return _broken(error, answered=answered)
    if isinstance(error, aiohttp.ClientError | OSError):
        return _closed(error, answered=answered)
    return None


_UNCONNECTED = (
    aiohttp.ClientHttpProxyError,
    aiohttp.ClientConnectorError,
    aiohttp.ClientConnectorCertificateError,
)


def _unconnected(error: aiohttp.ClientError, where: str) -> Said:
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return Outcome.CONNECT, f"the proxy refuses {where}: {error.status} {error.message}"
    lacks = lacking(error) if isinstance(error, OSError) else None
    if lacks is not None:
        return Outcome.DROPPED, lacks
    tls = isinstance(error, aiohttp.ClientSSLError | aiohttp.ClientConnectorCertificateError)
    return (Outcome.TLS if tls else Outcome.CONNECT), f"{where}: {error}"


def _broken(error: Exception, *, answered: bool) -> Said:
    """No HTTP, or HTTP that stops: aiohttp wraps the former's cause."""
    causes = [error, error.__cause__, error.__context__]
    if any(isinstance(cause, HttpProcessingError) for cause in causes) and not _cut(causes):
        why = next(cause for cause in causes if isinstance(cause, HttpProcessingError))
        return Outcome.MALFORMED, f"no HTTP/1.1 answer: {why.message}"
    if isinstance(error, aiohttp.ClientResponseError):
        return Outcome.MALFORMED, f"no HTTP/1.1 answer: {error.message}"
    return _closed(error, answered=answered)


def _cut(causes: list[BaseException | None]) -> bool:
    """Whether the message just ended before its time."""
    return any("Not enough data" in str(cause) for cause in causes if cause is not None)


def _closed(error: Exception, *, answered: bool) -> Said:
    what = "the end of the answer" if answered else "any answer"
    because = "" if isinstance(error, aiohttp.ServerDisconnectedError) else f": {error}"
    return Outcome.INCOMPLETE, f"closed before {what}{because}"
