"""The feed: one document that a gateway takes, named by its hash, for its own token alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.audit.models import AuditEntry
from controlplane.catalogue.models import Endpoint, PolicyVersion, Tenant
from controlplane.catalogue.services.removal import InUse, delete
from controlplane.gateways import services, writing
from controlplane.gateways.documents import GatewayDocument, document_of
from controlplane.gateways.models import Gateway, TenantKey
from controlplane.teams.rights import Actor, Denied
from controlplane.teams.services import create_token
from documents.problem import DocumentError
from gateway.config_reader import parse
from gateway.tenants import KeyRing
from measurement.comparison.criterion import Criterion, Kind
from tests.controlplane.gateways.conftest import Plane


def test_the_document_is_what_the_gateway_reads(
    plane: Plane, edge: Gateway, steady: PolicyVersion
) -> None:
    answer = plane.config()
    assert answer.status_code == 200
    config = parse(answer.json())
    assert config.active == steady.sha256
    assert [lane.name for lane in config.lanes] == ["p", "q"]
    assert config.anonymous == "acme"
    assert config.slo is not None
    assert config.revision == edge.revision == 1


def test_what_is_known_already_is_not_sent_again(plane: Plane, edge: Gateway) -> None:
    first = plane.config()
    again = plane.config(first["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    Endpoint.objects.filter(slug="e-p").update(base_url="http://127.0.0.1:9999")
    moved = plane.config(first["ETag"])
    assert moved.status_code == 200
    assert moved.json()["lanes"][0]["endpoints"][0]["base_url"].endswith("9999")


def test_another_version_serves_under_the_next_revision_and_is_audited(
    plane: Plane, edge: Gateway, operator: Actor, wide: PolicyVersion
) -> None:
    services.serve(actor=operator, gateway=edge, version=wide, reason="it meets the objective")
    told = plane.config().json()
    assert (told["active"], told["revision"]) == (wide.sha256, 2)
    entry = AuditEntry.objects.get(verb="serve_version")
    assert (entry.actor, entry.object_name) == (operator.name, "edge")
    assert entry.detail == {"revision": 2, "reason": "it meets the objective"}


def test_what_serves_already_makes_no_revision(
    edge: Gateway, operator: Actor, steady: PolicyVersion
) -> None:
    services.serve(actor=operator, gateway=edge, version=steady)
    assert edge.revision == 1
    assert not AuditEntry.objects.filter(verb="serve_version").exists()


def test_a_viewer_serves_nothing_and_that_is_noted(
    edge: Gateway, actor_as: Callable[..., Actor], wide: PolicyVersion
) -> None:
    with pytest.raises(Denied):
        services.serve(actor=actor_as("viewer"), gateway=edge, version=wide)
    assert AuditEntry.objects.get(verb="serve_version").outcome == "denied"


def canary_of(version: PolicyVersion, **changed: Any) -> services.Canary:
    given: dict[str, Any] = {
        "lanes": ("p", "q"), "seed": 7, "starts_at": 0.0, "blocks": 40, "slot_s": 10.0,
        "washout_s": 0.0, "weight": 0.5,
    }  # fmt: skip
    return services.Canary(candidate=version, **(given | changed))


def test_a_canary_and_a_shadow_reach_the_gateway_and_roll_back_at_once(
    plane: Plane, edge: Gateway, steady: PolicyVersion, wide: PolicyVersion
) -> None:
    criteria = (Criterion(kind=Kind.EXCEEDANCE, metric="ttft_ms", threshold=400.0),)
    services.set_shadow(gateway=edge, version_or_none=wide, by="rollout 1", reason="stage")
    services.set_canary(
        gateway=edge, canary=canary_of(wide, criteria=criteria), by="rollout 1", reason="stage"
    )
    config = parse(plane.config().json())
    assert (config.shadow, config.revision) == (wide.sha256, 3)
    assert config.canary is not None
    assert config.canary.candidate == wide.sha256
    assert [one.name for one in config.canary.counted] == ["ttft_ms_p99"]
    services.roll_back(gateway=edge, by="rollout 1", reason="harm")
    config = parse(plane.config().json())
    assert (config.canary, config.shadow, config.active) == (None, None, steady.sha256)
    assert AuditEntry.objects.get(verb="roll_back").actor == "rollout 1"


@pytest.mark.parametrize(
    ("changed", "path"),
    [({"lanes": ("p", "x")}, "canary.lanes"), ({"weight": 0.1}, "canary.weight"),
     ({"washout_s": 10.0}, "canary.washout_s")],
)  # fmt: skip
def test_a_canary_that_the_gateway_would_refuse_is_refused_here(
    changed: dict[str, Any], path: str, edge: Gateway, wide: PolicyVersion
) -> None:
    with pytest.raises(DocumentError) as error:
        services.set_canary(gateway=edge, canary=canary_of(wide, **changed), by="r", reason="")
    assert path in [problem.path for problem in error.value.problems]
    edge.refresh_from_db()
    assert (edge.revision, edge.canary) == (1, None)


def test_the_active_version_is_neither_tried_nor_shadowed(
    edge: Gateway, steady: PolicyVersion
) -> None:
    with pytest.raises(DocumentError, match="differs from the active version at no point"):
        services.set_shadow(gateway=edge, version_or_none=steady, by="r", reason="")
    with pytest.raises(DocumentError, match="differs from the active version at no point"):
        services.set_canary(gateway=edge, canary=canary_of(steady), by="r", reason="")


def test_nobody_changes_the_baseline_under_a_canary(
    edge: Gateway, operator: Actor, wide: PolicyVersion, version_of: Callable[..., PolicyVersion]
) -> None:
    services.set_canary(gateway=edge, canary=canary_of(wide), by="r", reason="")
    with pytest.raises(DocumentError, match="end that first"):
        services.serve(actor=operator, gateway=edge, version=version_of("third", limit=5))
    services.set_active(gateway=edge, version=wide, by="r", reason="it passed")
    assert (edge.canary, edge.active_version) == (None, wide)


def test_a_key_opens_the_gateway_until_it_is_revoked(
    plane: Plane, edge: Gateway, operator: Actor, acme: Tenant
) -> None:
    key, secret = writing.make_key(actor=operator, gateway=edge, tenant=acme, name="bot")
    assert secret not in str(plane.config().content)
    assert not TenantKey.objects.filter(digest__contains=secret).exists()

    def opens() -> bool:
        ring = KeyRing(parse(plane.config().json()).tenants, anonymous="")
        return ring.tenant(f"Bearer {secret}".encode()) is not None

    assert opens()
    Gateway.objects.filter(pk=edge.pk).update(anonymous_tenant=None)
    writing.revoke_key(actor=operator, key=key)
    assert not opens()


def test_a_gateway_that_lets_nobody_in_is_not_told_to_serve(plane: Plane, edge: Gateway) -> None:
    Gateway.objects.filter(pk=edge.pk).update(anonymous_tenant=None)
    answer = plane.config()
    assert answer.status_code == 409
    assert "every request would be refused" in answer.json()["detail"]


def test_a_gateways_token_can_do_nothing_else(plane: Plane, edge: Gateway) -> None:
    for path in ("/endpoints", "/runs", "/policies", "/gates"):
        answer = plane.client.get(f"/api/v1{path}", headers=plane.headers)
        assert answer.status_code == 403
    answer = plane.client.post(
        "/api/v1/tenants", {"name": "x"}, content_type="application/json", headers=plane.headers
    )
    assert answer.status_code == 403


def test_another_token_is_no_gateways(edge: Gateway, operator: Actor) -> None:
    _token, secret = create_token(
        actor=operator, name="ci", scopes=["read", "runs:write"], expires_at=None
    )
    answer = Client().get(
        "/api/v1/gateways/edge/config", headers={"Authorization": f"Bearer {secret}"}
    )
    assert answer.status_code == 403


def test_the_api_keeps_gateways_as_it_keeps_the_rest(
    edge: Gateway, operator: Actor, api_as: Callable[..., Callable[..., Any]]
) -> None:
    call = api_as(operator)
    shown = call("get", "/gateways/edge")
    document = shown.json()["document"]
    assert document["lanes"] == {"p": ["e-p"], "q": ["e-q"]}
    body = {**document, "queue_bound": 7}
    assert call("put", "/gateways/edge", body).status_code == 428
    changed = call("put", "/gateways/edge", body, If_Match=shown["ETag"])
    assert (changed.status_code, changed.json()["revision"]) == (200, 2)
    assert call("put", "/gateways/edge", body, If_Match=shown["ETag"]).status_code == 412
    made = call("post", "/gateways", {**document, "name": "west"})
    assert made.status_code == 201
    assert made["Location"].startswith("/api/v1/gateways/")
    bad = call("post", "/gateways", {**document, "name": "east", "lanes": {"p": ["none"]}})
    assert bad.status_code == 422
    assert [error["pointer"] for error in bad.json()["errors"]] == ["#/lanes/p"]
    gone = call("get", "/gateways/west")
    assert call("delete", "/gateways/west", If_Match=gone["ETag"]).status_code == 204


def test_words_about_a_gateway_change_without_a_revision(edge: Gateway, operator: Actor) -> None:
    document = GatewayDocument(**{**document_of(edge), "description": "In Frankfurt"})
    writing.change_gateway(actor=operator, gateway=edge, document=document)
    assert (edge.description, edge.revision) == ("In Frankfurt", 1)
    assert AuditEntry.objects.filter(verb="change_gateway").count() == 1


def test_what_a_gateway_stands_on_is_not_deleted_under_it(
    edge: Gateway, operator: Actor, steady: PolicyVersion
) -> None:
    for row in (Endpoint.objects.get(slug="e-p"), steady.line):
        with pytest.raises(InUse, match="is used by"):
            delete(actor=operator, row=row)
    delete(actor=operator, row=edge)
    delete(actor=operator, row=Endpoint.objects.get(slug="e-p"))
