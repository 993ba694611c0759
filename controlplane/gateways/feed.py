"""What a gateway is told: its configuration as one document, named by its hash."""

from __future__ import annotations

from typing import Any

from controlplane.catalogue.models import Endpoint, PolicyVersion
from controlplane.gateways.models import Gateway, TenantKey
from documents import canonical
from gateway.config import API_VERSION, KIND, GatewayConfig
from gateway.config_reader import parse


def document(gateway: Gateway) -> dict[str, Any]:
    """The ``GatewayConfig`` of what is stored now; whether it is a good one, ``config`` tells."""
    slo = gateway.slo_version
    anonymous = gateway.anonymous_tenant
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "gateway": gateway.slug,
        "revision": gateway.revision,
        "lanes": [
            {"name": name, "endpoints": [_endpoint(one) for one in endpoints]}
            for name, endpoints in gateway.lanes.items()
        ],
        "tenants": _tenants(gateway),
        "anonymous": anonymous.slug if anonymous else "",
        "slo": slo.document if slo else None,
        "policies": [
            {"sha256": sha256, "document": given} for sha256, given in _policies(gateway).items()
        ],
        "active": gateway.active_version.sha256,
        "queue": gateway.queue,
        "timeouts": gateway.timeouts,
        "limits": gateway.limits,
        "canary": gateway.canary,
        "shadow": gateway.shadow_version.sha256 if gateway.shadow_version else None,
    }


def config(gateway: Gateway) -> GatewayConfig:
    """The same as the gateway will read it; DocumentError with all that it would refuse."""
    return parse(document(gateway))


def etag(told: dict[str, Any]) -> str:
    """The document's hash: it changes when anything in it does, an endpoint's address too."""
    return f'"{canonical.sha256(told)}"'


def key_variable(endpoint: Endpoint) -> str:
    """Where the gateway's process finds the endpoint's credential, which is in no document."""
    return f"ENGINE_KEY_{endpoint.slug.upper().replace('-', '_')}"[:64]


def fingerprint(endpoint: Endpoint) -> str:
    """What an engine is, as far as it is known: equal for engines that may stand in for another."""
    probe = endpoint.probe or {}
    found = {name: probe.get(name) for name in ("kind", "signals")} if probe.get("good") else {}
    return canonical.sha256({"kind": endpoint.kind, "model": endpoint.model, "probe": found})


def _endpoint(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "name": endpoint.slug,
        "base_url": endpoint.base_url,
        "model": endpoint.model,
        "kind": endpoint.kind,
        "api_key_env": key_variable(endpoint) if endpoint.has_credential else "",
    }


def _tenants(gateway: Gateway) -> list[dict[str, Any]]:
    """Everybody who has, or had, a key: one whose last key was revoked stays, with none."""
    keys: dict[str, list[str]] = {}
    tiers: dict[str, str] = {}
    for key in TenantKey.objects.filter(gateway=gateway).select_related("tenant").order_by("pk"):
        tiers[key.tenant.slug] = key.tenant.tier
        held = keys.setdefault(key.tenant.slug, [])
        if key.revoked_at is None:
            held.append(key.digest)
    if gateway.anonymous_tenant is not None:
        tiers[gateway.anonymous_tenant.slug] = gateway.anonymous_tenant.tier
    return [
        {"name": name, "tier": tiers[name], "keys": keys.get(name, [])} for name in sorted(tiers)
    ]


def _policies(gateway: Gateway) -> dict[str, Any]:
    """By hash, each once."""
    wanted: tuple[PolicyVersion | None, ...] = (
        gateway.active_version,
        gateway.canary_version,
        gateway.shadow_version,
    )
    return {version.sha256: version.document for version in wanted if version is not None}
