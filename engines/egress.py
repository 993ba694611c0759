"""Egress: the one gate that every outbound call passes.

A name is resolved once, every address it has is checked, and the connection goes to a checked
address and no other, so that a second look-up can't change the answer. Spellings of an address
(``0x7f.1``, ``::ffff:127.0.0.1``) need no rules of their own: what is checked is what is dialled.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from documents.problem import DocumentError, Problem
from engines.proxy import Proxy

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Lookup = Callable[[str, int], Awaitable[list[str]]]

_LOOPBACK: tuple[Network, ...] = (
    ipaddress.ip_network("127.0.0.0/8"),
    ipaddress.ip_network("::1/128"),
)
_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254")
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_SAFE_PORTS = ((80, 80), (443, 443), (1024, 65535))
_EVERY_PORT = ((1, 65535),)


class EgressDenied(DocumentError):  # noqa: N818 - the word is the denial
    """A call that the rules forbid: which URL, why, and what would allow it."""

    def __init__(self, url: str, reason: str, remedy: str) -> None:
        self.url = url
        self.reason = reason
        self.remedy = remedy
        super().__init__([Problem("url", url, f"{reason}; {remedy}")])


@dataclass(frozen=True, slots=True)
class Pinned:
    """A host whose addresses were checked: connect to these, and ask no resolver again."""

    host: str
    port: int
    tls: bool
    addresses: tuple[str, ...]

    @property
    def address(self) -> str:
        """The address to try first."""
        return self.addresses[0]


@dataclass(frozen=True, slots=True)
class EgressRules:
    """What may be called. The default is strict: public addresses, and ports that serve HTTP."""

    allow: tuple[Network, ...] = ()
    """Networks allowed besides public addresses; an admin's list."""
    schemes: tuple[str, ...] = ("http", "https")
    ports: tuple[tuple[int, int], ...] = _SAFE_PORTS
    any_address: bool = False
    proxy: Proxy | None = None
    """What every call goes through; it resolves names, so only literal addresses are checked."""

    @classmethod
    def loopback(cls) -> EgressRules:
        """The embedded set-up: public addresses and this machine, nothing else that is private."""
        return cls(allow=_LOOPBACK)

    @classmethod
    def open(cls) -> EgressRules:
        """One's own command line: any address and port but cloud metadata and multicast."""
        return cls(ports=_EVERY_PORT, any_address=True)

    def check_url(self, url: str) -> tuple[str, int, bool]:
        """Host, port and whether it is TLS; EgressDenied when scheme or port is not allowed."""
        shown, parts = _split(url)
        if parts.scheme not in self.schemes:
            reason = f"scheme {parts.scheme!r} is not allowed"
            raise EgressDenied(shown, reason, f"use {' or '.join(self.schemes)}")
        tls = parts.scheme == "https"
        port = parts.port if parts.port is not None else (443 if tls else 80)
        if not any(low <= port <= high for low, high in self.ports):
            remedy = "serve the engine on 80, 443 or a port from 1024 up"
            raise EgressDenied(shown, f"port {port} is not allowed", remedy)
        return parts.hostname or "", port, tls

    def check_address(self, url: str, text: str) -> None:
        """EgressDenied when an address is none that may be called."""
        address = _unwrap(ipaddress.ip_address(text.partition("%")[0]))
        if fault := self._fault(address):
            remedy = f"an admin can allow {address} in the egress allow-list"
            if address in _METADATA or address.is_multicast:
                remedy = "no rule allows it"
            raise EgressDenied(_split(url)[0], f"{address} is {fault}", remedy)

    def _fault(self, address: Address) -> str:
        if address in _METADATA:
            return "a cloud metadata address"
        if address.is_multicast:
            return "a multicast address"
        if self.any_address or any(address in network for network in self.allow):
            return ""
        for kind in ("loopback", "link_local", "unspecified", "private", "reserved"):
            if getattr(address, f"is_{kind}"):
                return f"a {kind.replace('_', '-')} address"
        if not address.is_global or getattr(address, "is_site_local", False):
            return "not a public address"
        return ""


async def resolve(url: str, rules: EgressRules, *, lookup: Lookup | None = None) -> Pinned:
    """Check a URL, resolve its host once and check every address it has.

    One forbidden address forbids the host: a name that is half private is not to be trusted.
    Raises EgressDenied, or ``socket.gaierror`` when the name has no address.
    """
    host, port, tls = rules.check_url(url)
    addresses = await (lookup or _lookup)(host, port)
    for address in addresses:
        rules.check_address(url, address)
    return Pinned(host, port, tls, tuple(addresses))


async def way_to(url: str, rules: EgressRules, *, lookup: Lookup | None = None) -> Pinned:
    """Where a request for this URL is sent: to its own checked addresses, or to the proxy's.

    Raises as ``resolve`` does.
    """
    if rules.proxy is None:
        return await resolve(url, rules, lookup=lookup)
    host, _, _ = rules.check_url(url)
    if _is_address(host):
        rules.check_address(url, host)
    return await resolve(rules.proxy.url, rules, lookup=lookup)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


async def _lookup(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, f"no such host name: {error}") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _split(url: str) -> tuple[str, SplitResult]:
    """The URL as it may be shown (no credentials, no query), and its parts."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise EgressDenied("…", f"no URL: {error}", "give a URL like https://host:8000") from None
    host = f"[{host}]" if host and ":" in host else host
    shown = f"{parts.scheme}://{host}" + (f":{port}" if port is not None else "") + parts.path
    if "@" in parts.netloc:
        raise EgressDenied(shown, "it holds credentials", "give the key apart from the URL")
    if not host or not url.isprintable() or " " in url or "\\" in url:
        raise EgressDenied(shown, "it is no plain URL", "give a URL like https://host:8000")
    return shown, parts


def _unwrap(address: Address) -> Address:
    """The IPv4 address that an IPv6 one carries (mapped, 6to4, Teredo, NAT64), else itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address
