"""Requests as they were read, and the heads of answers."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

JSON = "application/json"
EVENTS = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One whole request."""

    method: str
    path: str
    body: bytes


def head(status: int, headers: list[tuple[str, str]]) -> bytes:
    """Status line and headers, with the empty line that ends them."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "server: headway-engine"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
