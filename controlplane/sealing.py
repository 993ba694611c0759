"""Secrets at rest: AES-256-GCM under keys that stand outside the database.

A sealed text is ``id.nonce+ciphertext`` (base64url); the id says which key opens it, so keys can
be rotated: put a new one first in HEADWAY_SEAL_KEY, run `reseal`, then drop the old one.
"""

from __future__ import annotations

import base64
import binascii
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

NONCE = 12


class SealError(RuntimeError):
    """A sealed value that no configured key opens."""


class Secret:
    """A clear secret on its way to where it is used; it never shows itself."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text. Call it where it is handed on, nowhere else."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not to be pickled or sent")


def seal(secret: Secret, *, owner: str) -> str:
    """Seal for one owner (an object's id): copied to another row, it does not open."""
    name, key = next(iter(settings.SEAL_KEYS.items()))
    nonce = secrets.token_bytes(NONCE)
    sealed = AESGCM(key).encrypt(nonce, secret.reveal().encode(), _bound(name, owner))
    return f"{name}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"


def unseal(sealed: str, *, owner: str) -> Secret:
    name, _dot, encoded = sealed.partition(".")
    key = settings.SEAL_KEYS.get(name)
    if key is None:
        raise SealError(f"sealed under key {name!r}, which HEADWAY_SEAL_KEY does not list")
    try:
        raw = base64.urlsafe_b64decode(encoded)
        clear = AESGCM(key).decrypt(raw[:NONCE], raw[NONCE:], _bound(name, owner))
    except (InvalidTag, ValueError, binascii.Error):
        raise SealError(f"key {name!r} does not open this value; was it moved or cut?") from None
    return Secret(clear.decode())


def is_current(sealed: str) -> bool:
    """Whether the first key, the one that seals, sealed this."""
    return sealed.partition(".")[0] == next(iter(settings.SEAL_KEYS))


def _bound(name: str, owner: str) -> bytes:
    return f"headway:{name}:{owner}".encode()
