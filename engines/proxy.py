"""An HTTP proxy that calls are sent through because somebody asked for it, never by environment."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from documents.problem import DocumentError, Problem

_DEFAULT_PORT = 3128


@dataclass(frozen=True, slots=True)
class Proxy:
    """``CONNECT`` for https, absolute-form for http. It is spoken to without TLS."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Proxy:
        """``http://host:port``; DocumentError says what else stands there."""

        def fault(message: str, shown: str = text) -> DocumentError:
            return DocumentError([Problem("proxy", shown, message)])

        if "@" in text:  # whatever else is wrong with it, it is not to be repeated
            message = "must be http://host:port without a credential: none is spoken to a proxy"
            raise fault(message, "(hidden)")
        try:
            parts = urlsplit(text.strip())
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise fault(f"must be http://host:port: {error}") from None
        if parts.scheme != "http" or not host:
            raise fault("must be http://host:port; a proxy behind TLS or SOCKS is not spoken")
        if port == 0 or not host.isascii() or not host.isprintable() or " " in host:
            raise fault("must be http://host:port, with a host's name and a port from 1")
        if parts.path.strip("/") or parts.query or parts.fragment:
            raise fault("must be http://host:port without a path")
        return cls(host, _DEFAULT_PORT if port is None else port)

    @property
    def url(self) -> str:
        """As it is written, and as the egress rules check it."""
        return f"http://{authority(self.host, self.port)}"


def authority(host: str, port: int) -> str:
    """``host:port``, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
