"""Endpoints: who may change them, what is refused, and a credential that nobody sees again."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import make_dataclass
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from controlplane.audit.models import AuditEntry
from controlplane.audit.services import verify
from controlplane.catalogue.documents import EndpointDocument
from controlplane.catalogue.forms import DocumentForm, label_of
from controlplane.catalogue.models import Endpoint
from controlplane.catalogue.services.endpoints import (
    change_endpoint,
    create_endpoint,
    credential_of,
)
from controlplane.catalogue.services.removal import delete
from controlplane.sealing import Secret, is_current
from controlplane.teams.rights import Actor, Denied
from documents.fields import describe, parameter
from documents.problem import DocumentError
from schedulers.decision import DecisionPoint
from schedulers.points import registered

URL = "http://127.0.0.1:8100"
KEY = "sk-live-never-shown-9876543210"
FORM = {"name": "edge", "base_url": URL, "model": "m", "kind": "vllm"}


def document(**changed: Any) -> EndpointDocument:
    return EndpointDocument(**{"name": "edge", "base_url": URL, "model": "m", **changed})


@pytest.fixture
def endpoint(operator: Actor) -> Endpoint:
    return create_endpoint(actor=operator, document=document(), credential=Secret(KEY))


def test_a_viewer_may_not_and_the_denial_is_written_down(
    actor_as: Callable[..., Actor],
) -> None:
    with pytest.raises(Denied):
        create_endpoint(actor=actor_as("viewer"), document=document())
    assert not Endpoint.objects.exists()
    assert AuditEntry.objects.get().outcome == "denied"


def test_labels_are_words_with_their_units_beside() -> None:
    form = DocumentForm(of=EndpointDocument)
    labels = {name: (field.label, field.unit) for name, field in form.fields.items()}
    assert labels["base_url"] == ("Base URL", "")
    assert labels["max_duration_s"] == ("Max duration", "s")
    assert labels["max_concurrency"] == ("Max concurrency", "requests")
    aimd = DocumentForm(of=registered(DecisionPoint.CONCURRENCY)["aimd"]).fields
    assert (aimd["timeout_ms"].label, aimd["timeout_ms"].unit) == ("Timeout", "ms")


@pytest.mark.parametrize(
    ("name", "unit", "label"),
    [
        ("slo_api_kv", "", "SLO API KV"),
        ("kv_use_ms", "ms", "KV use"),
        ("items_s", "", "Items s"),
        ("weight", "", "Weight"),
    ],
)
def test_a_label_comes_from_the_fields_name(name: str, unit: str, label: str) -> None:
    made = make_dataclass("Made", [(name, int, parameter(default=1, unit=unit))])
    assert label_of(describe(made)[0]) == label


def test_a_name_is_taken_once_in_a_team_and_free_in_another(
    endpoint: Endpoint, operator: Actor, stranger: Actor
) -> None:
    with pytest.raises(DocumentError, match=r"name: is taken .* choose another \(got 'edge'\)"):
        create_endpoint(actor=operator, document=document())
    create_endpoint(actor=stranger, document=document())


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"name": "no spaces"}, "name"),
        ({"name": ""}, "name"),
        ({"base_url": "ftp://x"}, "base_url"),
        ({"base_url": "http://u:p@x"}, "base_url"),
        ({"base_url": "nonsense"}, "base_url"),
        ({"model": " "}, "model"),
        ({"description": "x" * 401}, "description"),
    ],
)
def test_a_faulty_field_is_named(changed: dict[str, Any], path: str) -> None:
    with pytest.raises(DocumentError) as caught:
        document(**changed)
    assert caught.value.problems[0].path == path


def test_an_address_that_egress_forbids_is_refused_at_save(operator: Actor) -> None:
    with pytest.raises(DocumentError, match=r"base_url.*metadata"):
        create_endpoint(actor=operator, document=document(base_url="http://169.254.169.254"))


def test_the_credential_is_sealed_in_the_row_and_opens_for_its_use(endpoint: Endpoint) -> None:
    endpoint.refresh_from_db()
    assert KEY not in endpoint.sealed_credential
    assert credential_of(endpoint).reveal() == KEY


def test_a_new_url_clears_the_credential_and_the_old_one_keeps_it(
    endpoint: Endpoint, operator: Actor
) -> None:
    kept = change_endpoint(actor=operator, endpoint=endpoint, document=document(model="other"))
    assert kept.has_credential
    moved = change_endpoint(
        actor=operator, endpoint=kept, document=document(base_url="http://127.0.0.1:9009")
    )
    assert not moved.has_credential
    given = change_endpoint(
        actor=operator, endpoint=moved, document=document(), credential=Secret("other")
    )
    assert credential_of(given).reveal() == "other"
    cleared = change_endpoint(
        actor=operator, endpoint=given, document=document(), clear_credential=True
    )
    assert not cleared.has_credential


def test_every_write_is_in_a_chain_that_holds(endpoint: Endpoint, operator: Actor) -> None:
    change_endpoint(actor=operator, endpoint=endpoint, document=document(max_rate=5.0))
    delete(actor=operator, row=endpoint)
    verbs = list(AuditEntry.objects.order_by("sequence").values_list("verb", flat=True))
    assert verbs == ["create_endpoint", "change_endpoint", "delete_endpoint"]
    assert verify(operator.team.pk) is None


def test_the_credential_shows_in_no_page_log_api_answer_or_audit_entry(
    operator: Actor,
    page_as: Callable[[Actor], Client],
    api_as: Callable[..., Callable[..., Any]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    client, call = page_as(operator), api_as(operator)
    client.post("/catalogue/endpoints/new/", {**FORM, "credential": KEY})
    made = Endpoint.objects.get()
    assert credential_of(made).reveal() == KEY
    refused = client.post(made.get_absolute_url(), {**FORM, "name": "no good", "credential": KEY})
    bad = call("post", "/endpoints", {"name": "x y", "credential": KEY, "max_rate": "fast"})
    shown = [
        client.get(made.get_absolute_url()).content.decode(),
        client.get("/catalogue/endpoints/").content.decode(),
        client.get("/audit/").content.decode(),
        call("get", "/endpoints").content.decode(),
        call("get", "/endpoints/edge").content.decode(),
        refused.content.decode(),
        bad.content.decode(),
        json.dumps(list(AuditEntry.objects.values()), default=str),
        caplog.text,
        repr(made.__dict__),
    ]
    assert (refused.status_code, bad.status_code) == (422, 422)
    assert not [text for text in shown if KEY in text]


@pytest.mark.parametrize("key", ["two\r\nlines", "a blank", "schlüssel", "nul\0", "k" * 4001])
def test_a_key_that_no_run_could_send_is_refused_when_it_is_saved(
    key: str, endpoint: Endpoint, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    answer = page_as(operator).post(endpoint.get_absolute_url(), {**FORM, "credential": key})
    assert answer.status_code == 422
    assert "credential: " in answer.context["form"].non_field_errors()[0]
    assert key not in answer.content.decode()
    endpoint.refresh_from_db()
    assert credential_of(endpoint).reveal() == KEY


def test_the_api_refuses_such_a_key_without_telling_it(
    operator: Actor, api_as: Callable[..., Callable[..., Any]]
) -> None:
    refused = api_as(operator)("post", "/endpoints", {**FORM, "credential": "two\nlines"})
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["pointer"] == "#/credential"
    assert "printable ASCII" in error["detail"]
    assert "lines" not in error["detail"]
    assert not Endpoint.objects.exists()


def test_reseal_moves_every_credential_to_the_new_key(
    endpoint: Endpoint, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.SEAL_KEYS = {"new": b"n" * 32, **settings.SEAL_KEYS}
    call_command("reseal")
    assert "1 credentials" in capsys.readouterr().out
    settings.SEAL_KEYS = {"new": b"n" * 32}
    endpoint.refresh_from_db()
    assert is_current(endpoint.sealed_credential)
    assert credential_of(endpoint).reveal() == KEY
    call_command("reseal")
    assert "0 credentials" in capsys.readouterr().out


def test_the_page_shows_each_fault_with_field_value_and_range(
    operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    faulty = {**FORM, "max_rate": "-3", "max_concurrency": "many"}
    answer = page_as(operator).post("/catalogue/endpoints/new/", faulty)
    assert answer.status_code == 422
    errors = answer.context["form"].errors
    assert "above 0 req/s (got -3)" in errors["max_rate"][0]
    assert "from 1 to 100000 requests (got 'many')" in errors["max_concurrency"][0]


def test_a_viewer_sees_the_page_without_a_form_and_may_not_post(
    endpoint: Endpoint, actor_as: Callable[..., Actor], page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(actor_as("viewer"))
    shown = client.get(endpoint.get_absolute_url())
    assert b"needs the role operator" in shown.content
    assert client.post(endpoint.get_absolute_url(), FORM).status_code == 403
    assert client.get("/catalogue/endpoints/new/").status_code == 403


def test_a_probe_of_a_port_where_nothing_listens_is_shown_as_such(
    operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    made = create_endpoint(actor=operator, document=document(base_url="http://127.0.0.1:1024"))
    client = page_as(operator)
    path = f"/catalogue/endpoints/{made.pk}/probe/"
    swapped = client.post(path, headers={"HX-Request": "true"}).content.decode()
    assert 'id="probe"' in swapped
    assert "not ready" in swapped
    assert client.post(path)["Location"] == made.get_absolute_url()
    made.refresh_from_db()
    assert made.probed_at is not None
    assert made.probe["good"] is False


def test_a_probe_that_egress_forbids_says_why(operator: Actor, settings: Any) -> None:
    from controlplane.catalogue.services.probing import probe_endpoint

    made = create_endpoint(actor=operator, document=document())
    settings.EGRESS = ("public",)
    found = probe_endpoint(actor=operator, endpoint=made).probe
    assert "loopback" in found["refused"]
