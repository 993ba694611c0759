"""Tenants and workloads, by service and by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.catalogue.models import Tenant, Workload
from controlplane.catalogue.services.workloads import change_workload, create_workload
from controlplane.teams.rights import Actor
from documents.problem import DocumentError
from loadtest.workloads.base import workloads

FIXED = {"kind": "fixed", "prompt_tokens": 10, "output_tokens": 5}


def test_a_workload_is_stored_with_every_default_written_out(operator: Actor) -> None:
    made = create_workload(actor=operator, name="w", document={"kind": "fixed"})
    assert made.document == {
        "kind": "fixed",
        "prompt_tokens": 64,
        "output_tokens": 64,
        "tenants": {},
    }


def test_a_change_moves_its_hash(operator: Actor) -> None:
    made = create_workload(actor=operator, name="w", document=FIXED)
    changed = change_workload(
        actor=operator, workload=made, name="w2", document={**FIXED, "output_tokens": 6}
    )
    assert changed.sha256 != made.sha256
    assert changed.slug == "w2"


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"kind": "unknown"}, "document.kind"),
        ({"kind": "fixed", "prompt_tokens": 0}, "document.prompt_tokens"),
        ({"kind": "fixed", "promt_tokens": 1}, "document.promt_tokens"),
        ("text", "document"),
    ],
)
def test_a_faulty_workload_is_refused_by_path(operator: Actor, document: Any, path: str) -> None:
    with pytest.raises(DocumentError) as caught:
        create_workload(actor=operator, name="w", document=document)
    assert caught.value.problems[0].path == path


@pytest.mark.parametrize("kind", sorted(workloads.all()))
def test_every_kind_has_a_form_of_its_own(
    operator: Actor, page_as: Callable[[Actor], Client], kind: str
) -> None:
    shown = page_as(operator).get(f"/catalogue/workloads/new/?kind={kind}")
    assert shown.status_code == 200
    assert shown.context["kind"].name == kind


def test_the_form_saves_numbers_and_shares(
    operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    said = {
        "name": "shared",
        "kind": "fixed",
        "prompt_tokens": "1,000",
        "output_tokens": "5",
        "tenants": "{vip: 0.25, batch: 0.75}",
    }
    assert page_as(operator).post("/catalogue/workloads/new/", said).status_code == 302
    made = Workload.objects.get()
    assert made.document["prompt_tokens"] == 1000
    assert made.document["tenants"] == {"vip": 0.25, "batch": 0.75}


def test_faults_stand_at_their_fields(operator: Actor, page_as: Callable[[Actor], Client]) -> None:
    client = page_as(operator)
    nameless = client.post("/catalogue/workloads/new/", {"kind": "fixed", "name": ""})
    assert nameless.status_code == 422
    assert "name" in nameless.context["about"].errors
    said = {"kind": "fixed", "name": "w", "prompt_tokens": "ten", "tenants": "{a: -1}"}
    faulty = client.post("/catalogue/workloads/new/", said)
    assert "got 'ten'" in faulty.context["form"].errors["prompt_tokens"][0]
    broken = client.post("/catalogue/workloads/new/", {**said, "tenants": "{a: "})
    assert broken.status_code == 422
    assert not Workload.objects.exists()


def test_a_tenant_is_made_changed_and_deleted_on_its_page(
    operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(operator)
    client.post("/catalogue/tenants/new/", {"name": "a", "tier": "vip", "weight": "2"})
    tenant = Tenant.objects.get()
    assert (tenant.tier, tenant.weight, tenant.tokens_per_min) == ("vip", 2.0, None)
    said = {"name": "b", "tier": "batch", "weight": "1", "tokens_per_min": "60000"}
    client.post(tenant.get_absolute_url(), said)
    tenant.refresh_from_db()
    assert (tenant.name, tenant.slug, tenant.tokens_per_min) == ("b", "b", 60000)
    refused = client.post(tenant.get_absolute_url(), {**said, "tier": "gold", "weight": "0"})
    assert {"tier", "weight"} <= set(refused.context["form"].errors)
    client.post(f"/catalogue/tenants/{tenant.pk}/delete/")
    assert not Tenant.objects.exists()
