"""Identifiers that sort by the time they were made (UUIDv7, RFC 9562)."""

from __future__ import annotations

import secrets
import time
import uuid


def uuid7() -> uuid.UUID:
    """48 bits of Unix milliseconds, 12 bits of the fraction below it, 62 random bits."""
    millis, rest = divmod(time.time_ns(), 1_000_000)
    fraction = (rest << 12) // 1_000_000
    value = (millis & (2**48 - 1)) << 80
    value |= 0x7 << 76 | fraction << 64
    value |= 0b10 << 62 | secrets.randbits(62)
    return uuid.UUID(int=value)
