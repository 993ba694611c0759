"""Keys to tenants: digests only, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

from gateway.config_parts import TenantConfig


class KeyRing:
    """Which tenant a key names.

    A key is hashed, looked up by the first half of its digest, and the second half compared in
    constant time: how long a look-up takes says nothing of any stored key.
    """

    def __init__(self, tenants: Iterable[TenantConfig], *, anonymous: str) -> None:
        by_name = {tenant.name: tenant for tenant in tenants}
        self._anonymous = by_name.get(anonymous)
        self._by_half: dict[bytes, list[tuple[bytes, TenantConfig]]] = {}
        for tenant in by_name.values():
            for key in tenant.keys:
                digest = bytes.fromhex(key)
                self._by_half.setdefault(digest[:16], []).append((digest[16:], tenant))

    def tenant(self, authorization: bytes | None) -> TenantConfig | None:
        """The tenant of an Authorization header's value; None when it names nobody."""
        if authorization is None:
            return self._anonymous
        scheme, _, key = authorization.strip().partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        digest = hashlib.sha256(key.strip()).digest()
        found = None
        for rest, tenant in self._by_half.get(digest[:16], ()):
            if hmac.compare_digest(rest, digest[16:]):
                found = tenant
        return found
