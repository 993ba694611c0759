"""Keys name tenants, whatever a look-up compares."""

from __future__ import annotations

from gateway.config_parts import TenantConfig
from gateway.tenants import KeyRing
from tests.gateway.serving import digest

ACME = TenantConfig("acme", "vip", (digest("sk-1"), digest("sk-2")))
OTHER = TenantConfig("other", "standard", (digest("sk-3"),))


def test_each_key_of_a_tenant_names_it() -> None:
    ring = KeyRing((ACME, OTHER), anonymous="")
    for key, tenant in (("sk-1", ACME), ("sk-2", ACME), ("sk-3", OTHER)):
        assert ring.tenant(f"Bearer {key}".encode()) is tenant
        assert ring.tenant(f"bearer  {key} ".encode()) is tenant


def test_everything_else_names_nobody() -> None:
    ring = KeyRing((ACME, OTHER), anonymous="")
    for value in (None, b"", b"Bearer", b"Bearer sk-4", b"sk-1", b"Basic sk-1", b"Bearer \xff"):
        assert ring.tenant(value) is None


def test_half_a_digest_is_not_enough() -> None:
    near = TenantConfig("near", "standard", (digest("sk-1")[:32] + "0" * 32,))
    assert KeyRing((near,), anonymous="").tenant(b"Bearer sk-1") is None
    assert KeyRing((near, ACME), anonymous="").tenant(b"Bearer sk-1") is ACME


def test_without_a_key_the_anonymous_tenant_asks_and_a_wrong_key_is_still_wrong() -> None:
    ring = KeyRing((ACME, OTHER), anonymous="other")
    assert ring.tenant(None) is OTHER
    assert ring.tenant(b"Bearer nobody") is None
