"""A target: one engine, or a pool of equal ones, behind one base URL."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from documents.problem import DocumentError, Problem


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go. ``kind`` names the adapter; the key never shows in a repr or a log."""

    base_url: str
    """Scheme, host and port, with or without ``/v1`` at its end."""
    model: str
    kind: str = "openai"
    api_key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        problems = [*_url_problems(self.base_url), *_key_problems(self.api_key)]
        if problems:
            raise DocumentError(problems)

    @property
    def root(self) -> str:
        """The base URL without ``/v1``: where ``/metrics`` and ``/health`` stand."""
        base = self.base_url.rstrip("/")
        return base.removesuffix("/v1")

    def url(self, path: str) -> str:
        """The full URL of an API path such as ``/v1/models`` or ``/metrics``."""
        return self.root + path

    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers that name us to the engine; empty without a key."""
        return (("Authorization", f"Bearer {self.api_key}"),) if self.api_key else ()


def _url_problems(url: str) -> list[Problem]:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return [Problem("base_url", url, f"must be a URL: {error}")]
    if "@" in parts.netloc:
        shown = f"{parts.scheme}://…@{host}"
        return [Problem("base_url", shown, "must hold no credentials; give the key apart")]
    if parts.scheme not in ("http", "https") or not host:
        return [Problem("base_url", url, "must be a URL such as http://127.0.0.1:8000")]
    if not url.isascii():
        return [Problem("base_url", url, "must be ASCII; write the host in its xn-- form")]
    if parts.query or parts.fragment or not url.isprintable() or " " in url or "\\" in url:
        return [Problem("base_url", url, "must end with the path: no query, blank or backslash")]
    return []


def _key_problems(key: str) -> list[Problem]:
    if key.isascii() and key.isprintable() and " " not in key:
        return []
    return [Problem("api_key", "…", "must be printable ASCII without blanks")]
