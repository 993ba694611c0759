"""What a client asked, and the heads of answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus

JSON = "application/json"

HOP_BY_HOP = frozenset(
    (
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization",
        b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade",
    )
)  # fmt: skip
"""Headers that belong to one connection and are never passed on."""

RawHeaders = list[tuple[bytes, bytes]]


@dataclass(slots=True, eq=False)
class Request:
    """One whole request. Header names are in lower case, values as they came."""

    method: bytes
    target: bytes
    headers: RawHeaders
    body: bytes
    keep_alive: bool
    chunked: bool
    """The client reads chunks: HTTP/1.1."""
    path: str = field(default="")

    def header(self, name: bytes) -> bytes | None:
        """The first value of a header."""
        return next((value for key, value in self.headers if key == name), None)


def end_to_end(headers: RawHeaders, *, but: frozenset[bytes] = frozenset()) -> RawHeaders:
    """Headers to pass on: neither hop-by-hop, nor named by Connection, nor in ``but``."""
    named: set[bytes] = set()
    for name, value in headers:
        if name == b"connection":
            named.update(word.strip().lower() for word in value.split(b","))
    dropped = HOP_BY_HOP | but | named if named else HOP_BY_HOP | but
    return [pair for pair in headers if pair[0] not in dropped]


def status_line(status: int) -> bytes:
    """The first line of an answer."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Status"
    return b"HTTP/1.1 %d %s\r\n" % (status, phrase.encode())


def written(headers: RawHeaders) -> bytes:
    """Header lines."""
    return b"".join([b"%b: %b\r\n" % pair for pair in headers])
