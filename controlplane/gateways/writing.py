"""A gateway is made, changed as a whole, and its tenants are given keys."""

from __future__ import annotations

import hashlib
import secrets

from django.db import transaction
from django.utils import timezone

from controlplane.catalogue.models import Tenant
from controlplane.catalogue.services.writing import Guard, free_slug, may_write, note, unguarded
from controlplane.gateways import feed
from controlplane.gateways.changing import change, check
from controlplane.gateways.documents import Found, GatewayDocument, find
from controlplane.gateways.models import Gateway, GatewayLane, TenantKey
from controlplane.teams.rights import Actor
from documents.problem import DocumentError, Problem


def create_gateway(*, actor: Actor, document: GatewayDocument) -> Gateway:
    """A gateway at revision 1; nobody is let in before the first key, or an anonymous tenant."""
    may_write(actor, "create_gateway", "gateway", document.name)
    found = find(actor.team, document)
    with transaction.atomic():
        gateway = Gateway(team=actor.team, slug=free_slug(actor, Gateway, document.name))
        _fill(gateway, document, found)
        gateway.save(force_insert=True)
        _lay(gateway, found)
        check(gateway)
        note(actor, "create_gateway", gateway, after=feed.document(gateway))
    return gateway


def change_gateway(
    *, actor: Actor, gateway: Gateway, document: GatewayDocument, guard: Guard = unguarded
) -> Gateway:
    """Replace what people set; its name stays, as its processes ask for it by name."""
    may_write(actor, "change_gateway", "gateway", gateway.name)
    if document.name != gateway.name:
        message = f"must stay {gateway.name!r}: its processes ask for their configuration by it"
        raise DocumentError([Problem("name", document.name, message)])
    found = find(actor.team, document)

    def apply(row: Gateway) -> None:
        if row.canary is not None and found.active != row.active_version:
            message = "is held against a canary now; end that first"
            raise DocumentError([Problem("policy", document.policy, message)])
        _fill(row, document, found)
        if row.lanes != found.lanes:
            row.lane_rows.all().delete()
            _lay(row, found)

    return change(gateway, apply, by=actor.name, verb="change_gateway", guard=guard)


def make_key(*, actor: Actor, gateway: Gateway, tenant: Tenant, name: str) -> tuple[TenantKey, str]:
    """The key and its secret, which is told this once and kept only as a hash."""
    may_write(actor, "make_key", "gateway", gateway.name)
    if not name.strip() or len(name) > 80:
        raise DocumentError([Problem("name", name, "must have 1 to 80 characters")])
    if tenant.team_id != gateway.team_id:
        raise DocumentError([Problem("tenant", tenant.name, "is of another team")])
    secret = f"sk-hw-{secrets.token_urlsafe(32)}"
    key = TenantKey(
        gateway=gateway,
        tenant=tenant,
        name=name.strip(),
        prefix=secret[:12],
        digest=hashlib.sha256(secret.encode()).hexdigest(),
        created_by=actor.user,
    )
    change(gateway, lambda _row: key.save(), by=actor.name, verb="make_key", reason=str(key))
    return key, secret


def revoke_key(*, actor: Actor, key: TenantKey) -> None:
    """End a key: refused by every process of the gateway from its next poll on."""
    may_write(actor, "revoke_key", "gateway", key.gateway.name)

    def apply(_row: Gateway) -> None:
        TenantKey.objects.usable().filter(pk=key.pk).update(revoked_at=timezone.now())

    change(key.gateway, apply, by=actor.name, verb="revoke_key", reason=str(key))


def _fill(gateway: Gateway, document: GatewayDocument, found: Found) -> None:
    gateway.name, gateway.description = document.name, document.description
    gateway.active_version, gateway.slo_version = found.active, found.slo
    gateway.anonymous_tenant = found.anonymous
    gateway.queue, gateway.timeouts = document.queue, document.timeouts


def _lay(gateway: Gateway, found: Found) -> None:
    names = ((name, end) for name, ends in found.lanes.items() for end in ends)
    GatewayLane.objects.bulk_create(
        GatewayLane(gateway=gateway, name=name[:63], place=place, endpoint=end)
        for place, (name, end) in enumerate(names)
    )
