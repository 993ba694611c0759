"""The catalogue over the API: the whole life of each kind, and every refusal as a problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controlplane.catalogue.examples import POLICY, SLO
from controlplane.catalogue.models import Endpoint, Tenant
from controlplane.teams.rights import Actor

Call = Callable[..., Any]
BODIES: dict[str, dict[str, Any]] = {
    "endpoints": {"name": "one", "base_url": "http://127.0.0.1:9999", "model": "m"},
    "tenants": {"name": "one", "tier": "vip"},
    "workloads": {"name": "one", "document": {"kind": "fixed"}},
    "slos": {"document": {**SLO, "metadata": {"name": "one"}}},
    "policies": {"document": {**POLICY, "metadata": {"name": "one"}}},
}


@pytest.fixture
def call(operator: Actor, api_as: Callable[..., Call]) -> Call:
    return api_as(operator)


@pytest.mark.parametrize("kind", BODIES)
def test_an_object_is_made_read_replaced_and_deleted(kind: str, call: Call) -> None:
    made = call("post", f"/{kind}", BODIES[kind])
    assert made.status_code == 201, made.content
    shown = call("get", made["Location"].removeprefix("/api/v1"))
    assert shown.json() == made.json()
    assert call("get", f"/{kind}/one").json()["id"] == made.json()["id"]
    assert [row["slug"] for row in call("get", f"/{kind}").json()["results"]] == ["one"]
    same = call("put", f"/{kind}/one", BODIES[kind], If_Match=shown["ETag"])
    assert same.status_code == 200, same.content
    gone = call("delete", f"/{kind}/one", If_Match=same["ETag"])
    assert gone.status_code == 204
    assert call("get", f"/{kind}/one").status_code == 404


@pytest.mark.parametrize("kind", BODIES)
def test_an_unknown_field_is_refused_with_a_pointer_and_a_suggestion(kind: str, call: Call) -> None:
    body = {**BODIES[kind], "nmae": 1}
    refused = call("post", f"/{kind}", body)
    assert refused.status_code == 422
    assert refused["Content-Type"] == "application/problem+json"
    told = refused.json()
    assert told["type"] == "urn:headway:problem:invalid-document"
    (error,) = told["errors"]
    assert error["pointer"] == "#/nmae"
    assert "unknown field" in error["detail"]


@pytest.mark.parametrize("kind", BODIES)
def test_a_change_needs_the_etag_of_the_last_read(kind: str, call: Call) -> None:
    call("post", f"/{kind}", BODIES[kind])
    for method in ("put", "delete"):
        assert call(method, f"/{kind}/one", BODIES[kind]).status_code == 428
        stale = call(method, f"/{kind}/one", BODIES[kind], If_Match='"old"')
        assert stale.status_code == 412
        assert "read it again" in stale.json()["detail"]
    assert call("get", f"/{kind}/one").status_code == 200


@pytest.mark.parametrize("kind", BODIES)
def test_a_reader_reads_and_may_not_write(
    kind: str, operator: Actor, api_as: Callable[..., Call]
) -> None:
    reader = api_as(operator, "read")
    assert reader("get", f"/{kind}").status_code == 200
    refused = reader("post", f"/{kind}", BODIES[kind])
    assert refused.status_code == 403
    assert "catalogue:write" in refused.json()["detail"]


def test_a_probe_answers_with_the_endpoint_so_it_needs_read_too(
    operator: Actor, api_as: Callable[..., Call]
) -> None:
    body = {**BODIES["endpoints"], "base_url": "http://127.0.0.1:1024"}
    writer = api_as(operator, "catalogue:write")
    assert writer("post", "/endpoints", body).status_code == 201
    refused = writer("post", "/endpoints/one/probe")
    assert refused.status_code == 403
    assert "read" in refused.json()["detail"]
    assert Endpoint.objects.get().probed_at is None
    both = api_as(operator, "catalogue:write", "read")
    assert both("post", "/endpoints/one/probe").json()["probe"]["good"] is False


def test_a_fault_inside_a_document_is_pointed_at(call: Call) -> None:
    document = {**POLICY, "spec": {"concurrency": {"law": "fixed", "limit": -1}}}
    refused = call("post", "/policies", {"document": document})
    assert [error["pointer"] for error in refused.json()["errors"]] == [
        "#/document/spec/concurrency/limit"
    ]


def test_a_replaced_policy_is_its_next_version_and_both_can_be_read(call: Call) -> None:
    made = call("post", "/policies", BODIES["policies"])
    changed = {**BODIES["policies"]["document"], "spec": {"concurrency": {"law": "fixed"}}}
    changed["spec"]["concurrency"]["limit"] = 99
    put = call("put", "/policies/one", {"document": changed}, If_Match=made["ETag"])
    assert put.json()["latest"]["number"] == 2
    listed = call("get", "/policies/one/versions").json()["results"]
    assert [one["number"] for one in listed] == [2, 1]
    first = call("get", "/policies/one/versions/1").json()
    assert first["sha256"] == made.json()["latest"]["sha256"]
    assert call("get", "/policies/one/versions/3").status_code == 404


def test_a_credential_is_set_kept_and_cleared_and_never_answered(call: Call) -> None:
    body = BODIES["endpoints"]
    made = call("post", "/endpoints", {**body, "credential": "sk-secret"})
    assert made.json()["has_credential"] is True
    kept = call("put", "/endpoints/one", {**body, "model": "n"}, If_Match="*")
    assert kept.json()["has_credential"] is True
    cleared = call("put", "/endpoints/one", {**body, "credential": None}, If_Match="*")
    assert cleared.json()["has_credential"] is False
    refused = call("post", "/endpoints", {**body, "name": "two", "credential": {"k": "sk-secret"}})
    assert refused.status_code == 422
    for answer in (made, kept, cleared, refused, call("get", "/endpoints")):
        assert b"sk-secret" not in answer.content
    assert not Endpoint.objects.get().has_credential


@pytest.mark.parametrize("body", ["[]", '"text"', "7", "null"])
def test_a_body_that_is_no_object_is_refused(body: str, call: Call) -> None:
    assert call("post", "/tenants", body).status_code == 422


def test_a_body_that_is_no_json_is_a_problem_too(call: Call) -> None:
    refused = call("post", "/tenants", "{broken")
    assert refused.status_code == 400
    assert refused["Content-Type"] == "application/problem+json"


def test_a_list_goes_by_cursor_and_stays_whole_while_rows_are_added(call: Call) -> None:
    for n in range(5):
        call("post", "/tenants", {"name": f"t{n}"})
    seen: list[str] = []
    page = call("get", "/tenants?page_size=2").json()
    call("post", "/tenants", {"name": "late"})
    while True:
        seen += [row["slug"] for row in page["results"]]
        if page["next"] is None:
            break
        page = call("get", page["next"].partition("/api/v1")[2]).json()
    assert seen == ["t4", "t3", "t2", "t1", "t0"]
    assert Tenant.objects.count() == 6


def test_a_revoked_or_unknown_token_is_told_so(call: Call, operator: Actor) -> None:
    operator.team.tokens.update(digest="0" * 64)
    refused = call("get", "/tenants")
    assert refused.status_code == 401
    assert "unknown, revoked or expired" in refused.json()["detail"]


@pytest.mark.parametrize("method", ["get", "post", "put", "delete"])
@pytest.mark.parametrize("path", ["/nonsense", "/runs/not-an-id", "/slos/x/y/z", "/runs/", "/"])
def test_an_unknown_address_is_told_as_a_problem(
    operator: Actor, api_as: Callable[..., Any], method: str, path: str
) -> None:
    answer = api_as(operator)(method, path)
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    assert answer.json()["type"] == "urn:headway:problem:not-found"
    assert "nothing at this address" in answer.json()["detail"]
