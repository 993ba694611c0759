"""The environment, read once: each variable with its form, its default and an example.

A malformed or missing one stops the start and says its name and what would be right.
``docs/configuration.md`` has one row for each; a test compares the two.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

LOG_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Variable:
    """One knob. ``embedded`` is its default under `headway up`; ``default`` elsewhere.

    A default of None with ``required`` means that the server won't start without it.
    """

    name: str
    parse: Callable[[str], Any]
    example: str
    help: str
    default: str | None = None
    embedded: str | None = None
    required: bool = False

    def read(self, environ: Mapping[str, str], *, embedded: bool) -> Any:
        """The parsed value; ImproperlyConfigured names the variable and shows an example."""
        fallback = self.embedded if embedded and self.embedded is not None else self.default
        text = environ.get(self.name, "").strip() or fallback
        if text is None:
            if self.required:
                raise ImproperlyConfigured(
                    f"{self.name} is not set; {self.help} Example: {self.name}={self.example}"
                )
            return None
        try:
            return self.parse(text)
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{self.name} is malformed: {error}. Example: {self.name}={self.example}"
            ) from None


def boolean(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"{text!r} is neither 1 nor 0")


def secret(text: str) -> str:
    if len(text) < 50:
        raise ValueError("it must have at least 50 characters")
    return text


def hosts(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if "/" in name or not re.fullmatch(r"\*|\.?[A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\]", name):
            raise ValueError(f"{name!r} is not a host name (no scheme, port or path)")
    return names


def url(*schemes: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        parts = urlsplit(text)
        if parts.scheme not in schemes:
            raise ValueError(f"its scheme must be one of {', '.join(schemes)}")
        _ = parts.port  # raises ValueError when it is not a number
        if parts.scheme == "unix" and not parts.path.startswith("/"):
            raise ValueError("the socket's path must be absolute")
        return text

    return parse


def directory(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_absolute():
        raise ValueError("the path must be absolute")
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file, not a directory")
    return path


def seconds(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 600 <= int(text) <= 31_536_000:
        raise ValueError(f"{text!r} is no whole number of seconds from 600 to 31536000")
    return int(text)


def seal_keys(text: str) -> dict[str, bytes]:
    """``id:base64,id:base64``; the first seals, all of them open."""
    keys: dict[str, bytes] = {}
    for part in text.split(","):
        name, colon, encoded = part.strip().partition(":")
        if not colon or not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", name):
            raise ValueError("each key is written id:base64")
        try:
            key = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError(f"key {name!r} is not base64") from None
        if len(key) != 32:
            raise ValueError(f"key {name!r} must be 32 bytes, it has {len(key)}")
        keys[name] = key
    return keys


def egress(text: str) -> tuple[str, ...]:
    """``loopback``, ``public``, or networks that may be reached besides public addresses."""
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    for word in words:
        if word in ("loopback", "public"):
            continue
        try:
            ipaddress.ip_network(word)
        except ValueError:
            raise ValueError(f"{word!r} is neither loopback, public nor a network") from None
    return words


def choice(*known: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in known:
            raise ValueError(f"{text!r} is not one of {', '.join(known)}")
        return text.lower()

    return parse


VARIABLES = (
    Variable(
        "HEADWAY_EMBEDDED",
        boolean,
        "1",
        "Whether this is the one-machine set-up that `headway up` starts.",
        default="0",
    ),
    Variable(
        "SECRET_KEY",
        secret,
        "a-random-text-of-fifty-characters-or-more-that-nobody-else-knows",
        "Signs sessions and forms; `headway up` makes and keeps one.",
        required=True,
    ),
    Variable(
        "HEADWAY_SEAL_KEY",
        seal_keys,
        "k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
        "Seals stored credentials (AES-256-GCM): id:base64 of 32 bytes, the first of a list seals.",
    ),
    Variable(
        "ALLOWED_HOSTS",
        hosts,
        "headway.example.org,headway",
        "Host names this server answers to.",
        embedded="localhost,127.0.0.1,[::1]",
        required=True,
    ),
    Variable(
        "DATABASE_URL",
        url("sqlite", "postgres", "postgresql"),
        "postgresql://headway:password@db.example.org:5432/headway",
        "Where everything is stored; without it, SQLite in HEADWAY_DATA_DIR.",
    ),
    Variable(
        "REDIS_URL",
        url("redis", "rediss", "unix", "memory"),
        "redis://127.0.0.1:6379/0",
        "Redis or Valkey for the task queue, live frames and runs by several machines; "
        "unix:///path too.",
        default="redis://127.0.0.1:6379/0",
    ),
    Variable(
        "HEADWAY_DATA_DIR",
        directory,
        "/var/lib/headway",
        "Directory of the runs' files.",
        default="~/.local/share/headway",
    ),
    Variable(
        "HEADWAY_EGRESS",
        egress,
        "10.20.0.0/16,192.168.7.0/24",
        "Which addresses this server may call: loopback, public, and networks by name.",
        default="public",
        embedded="loopback,public",
    ),
    Variable(
        "HEADWAY_GATEWAY_HISTORY_S",
        seconds,
        "86400",
        "Seconds for which gateways' windows and decisions are kept; blocks of canaries stay.",
        default="21600",
    ),
    Variable(
        "HEADWAY_BEHIND_PROXY",
        boolean,
        "1",
        "Whether a proxy in front sets X-Forwarded-Proto and X-Forwarded-For.",
        default="0",
    ),
    Variable(
        "HEADWAY_DEMO_USER",
        str,
        "ada",
        "Name of the account that `load_demo` makes.",
        default="admin",
    ),
    Variable(
        "HEADWAY_DEMO_PASSWORD",
        str,
        "a-long-pass-phrase",
        "Its password; without it, a new account can't sign in until one is set.",
    ),
    Variable(
        "LOG_LEVEL",
        choice(*LOG_LEVELS),
        "warning",
        "How much is logged: debug, info, warning or error.",
        default="info",
    ),
)


def read(environ: Mapping[str, str]) -> dict[str, Any]:
    """Every variable by name."""
    embedded_switch = VARIABLES[0]
    embedded = embedded_switch.read(environ, embedded=False)
    return {variable.name: variable.read(environ, embedded=embedded) for variable in VARIABLES}
