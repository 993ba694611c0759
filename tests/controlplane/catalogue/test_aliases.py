"""Aliases: where they point, who moved them, and what names a version by one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.audit.models import AuditEntry
from controlplane.catalogue.examples import POLICY
from controlplane.catalogue.models import Alias, Policy
from controlplane.catalogue.services import aliases
from controlplane.catalogue.services.lines import save_policy
from controlplane.catalogue.services.removal import delete
from controlplane.runs.launch import policy_version
from controlplane.teams.rights import Actor, Denied
from documents.problem import DocumentError

Call = Callable[..., Any]
PATH = "/policies/my-policy/aliases/stable"


def policy(limit: int, name: str = "my-policy") -> dict[str, Any]:
    document = copy.deepcopy(POLICY)
    document["metadata"]["name"] = name
    document["spec"]["concurrency"]["limit"] = limit
    return document


@pytest.fixture
def line(operator: Actor) -> Policy:
    """Three versions."""
    line = save_policy(actor=operator, document=policy(1)).line
    for limit in (2, 3):
        save_policy(actor=operator, line=line, document=policy(limit))
    return line


def move(actor: Actor, line: Policy, name: str, number: int, reason: str = "") -> Alias:
    to = line.versions.get(number=number)
    return aliases.move(actor=actor, line=line, name=name, to=to, reason=reason)


def test_a_move_is_kept_with_who_from_where_to_where_and_why(line: Policy, operator: Actor) -> None:
    move(operator, line, "stable", 1)
    move(operator, line, "stable", 3, "it held")
    assert aliases.current(line, "stable") == line.latest
    newest, first = aliases.history(line, "stable")
    assert (first.from_version, first.to_version.number) == (None, 1)
    assert newest.from_version is not None
    assert (newest.from_version.number, newest.to_version.number) == (1, 3)
    assert (newest.by, newest.reason) == (operator.name, "it held")
    entry = AuditEntry.objects.filter(verb="move_alias").latest("sequence")
    assert entry.detail == {"alias": "stable", "from": 1, "to": 3, "reason": "it held"}


def test_a_move_to_where_it_points_already_leaves_no_trace(line: Policy, operator: Actor) -> None:
    move(operator, line, "canary", 2)
    move(operator, line, "canary", 2)
    assert aliases.history(line, "canary").count() == 1
    assert AuditEntry.objects.filter(verb="move_alias").count() == 1


def test_what_no_person_does_is_written_down_under_its_own_name(
    line: Policy, operator: Actor
) -> None:
    to = line.versions.get(number=2)
    said = {"team_id": line.team_id, "by": "rollout 7", "reason": "every stage passed"}
    aliases.move_by_system(line=line, name="stable", to=to, **said)
    assert aliases.history(line)[0].by == "rollout 7"
    assert AuditEntry.objects.get(verb="move_alias").actor == "rollout 7"


@pytest.mark.parametrize("name", ["", "Stable", "3", "-a", "a-", "latest", "a b", "a" * 64])
def test_a_name_that_could_be_taken_for_something_else_is_refused(
    line: Policy, operator: Actor, name: str
) -> None:
    with pytest.raises(DocumentError, match="alias: must be 1 to 63 small letters"):
        move(operator, line, name, 1)


def test_a_version_of_another_policy_is_refused(line: Policy, operator: Actor) -> None:
    other = save_policy(actor=operator, document=policy(9, "other")).version
    with pytest.raises(DocumentError, match="version: must be a version of my-policy"):
        aliases.move(actor=operator, line=line, name="stable", to=other)
    with pytest.raises(DocumentError, match="at most 400"):
        move(operator, line, "stable", 1, "x" * 401)
    assert not Alias.objects.exists()


def test_a_viewer_moves_nothing(line: Policy, actor_as: Callable[..., Actor]) -> None:
    with pytest.raises(Denied):
        move(actor_as("viewer"), line, "stable", 1)


def test_a_policy_goes_with_its_aliases(line: Policy, operator: Actor) -> None:
    move(operator, line, "stable", 1)
    delete(actor=operator, row=line)
    assert not Alias.objects.exists()


def test_the_page_moves_an_alias_and_shows_where_it_was(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(operator)
    address = f"{line.get_absolute_url()}aliases/"
    for number, reason in ((1, "first"), (3, "better")):
        said = {"alias": "stable", "version": number, "reason": reason}
        assert client.post(address, said).status_code == 302
    shown = client.get(line.get_absolute_url()).content.decode()
    assert "v1 → v3" in shown
    assert "better" in shown
    (row,) = client.get("/catalogue/policies/").context["rows"]
    assert [cell["text"] for cell in row[1:3]] == ["v3", "v3"]
    version = client.get(f"{line.get_absolute_url()}versions/3/")
    assert '<span class="tag">stable</span>' in version.content.decode()


def test_a_fault_stands_in_the_form_and_moves_nothing(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(operator)
    address = f"{line.get_absolute_url()}aliases/"
    refused = client.post(address, {"alias": "Bad Name", "version": 1})
    assert refused.status_code == 422
    assert "must be 1 to 63" in refused.context["alias_form"].errors["alias"][0]
    assert client.post(address, {"alias": "stable", "version": 99}).status_code == 422
    assert not Alias.objects.exists()


def test_a_viewer_sees_aliases_and_has_no_form(
    line: Policy,
    operator: Actor,
    actor_as: Callable[..., Actor],
    page_as: Callable[[Actor], Client],
) -> None:
    move(operator, line, "stable", 1)
    client = page_as(actor_as("viewer"))
    shown = client.get(line.get_absolute_url()).content.decode()
    assert "stable" in shown
    assert 'id="move"' not in shown
    said = {"alias": "stable", "version": 2}
    assert client.post(f"{line.get_absolute_url()}aliases/", said).status_code == 403
    found = aliases.current(line, "stable")
    assert found is not None
    assert found.number == 1


def test_over_the_api_a_new_alias_is_made_and_then_moved_by_who_has_read_it(
    line: Policy, operator: Actor, api_as: Callable[..., Call]
) -> None:
    call = api_as(operator)
    assert call("put", PATH, {"version": 1}, If_Match="*").status_code == 412
    made = call("put", PATH, {"version": 1, "reason": "first"})
    assert made.status_code == 201, made.content
    assert call("get", made["Location"].removeprefix("/api/v1")).json() == made.json()
    assert made.json()["version"] == 1
    assert call("put", PATH, {"version": 2}).status_code == 428
    assert call("put", PATH, {"version": 2}, If_Match='"old"').status_code == 412
    moved = call("put", PATH, {"version": 2}, If_Match=made["ETag"])
    assert (moved.status_code, moved.json()["version"]) == (200, 2)
    history = call("get", f"{PATH}/history").json()["results"]
    assert [(one["from"], one["to"], one["reason"]) for one in history] == [
        (1, 2, ""),
        (None, 1, "first"),
    ]
    listed = call("get", "/policies/my-policy/aliases").json()["results"]
    assert [one["name"] for one in listed] == ["stable"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"version": 9}, "#/version"),
        ({"version": "2"}, "#/version"),
        ({}, "#/version"),
        ({"version": 1, "why": "x"}, "#/why"),
        ({"version": 1, "reason": "x" * 401}, "#/reason"),
    ],
)
def test_the_api_points_at_what_is_wrong(
    line: Policy,
    operator: Actor,
    api_as: Callable[..., Call],
    body: dict[str, Any],
    pointer: str,
) -> None:
    refused = api_as(operator)("put", PATH, body)
    assert refused.status_code == 422
    assert [one["pointer"] for one in refused.json()["errors"]] == [pointer]


def test_another_teams_alias_can_be_neither_read_nor_moved(
    line: Policy, operator: Actor, stranger: Actor, api_as: Callable[..., Call]
) -> None:
    move(operator, line, "stable", 1)
    path = f"/policies/{line.pk}/aliases/stable"
    call = api_as(stranger)
    assert call("put", path, {"version": 2}, If_Match="*").status_code == 404
    reader = api_as(operator, "read")
    assert reader("put", path, {"version": 2}, If_Match="*").status_code == 403


def test_a_run_may_name_its_version_by_alias_and_gets_that_of_the_moment(
    line: Policy, operator: Actor
) -> None:
    move(operator, line, "stable", 2)
    found = policy_version(operator.team, "my-policy@stable")
    move(operator, line, "stable", 3)
    assert found.number == 2
    assert policy_version(operator.team, "my-policy@stable").number == 3


def test_an_alias_that_is_not_there_is_answered_with_those_that_are(
    line: Policy, operator: Actor, stranger: Actor
) -> None:
    with pytest.raises(DocumentError, match="no alias 'canary'; it has none yet"):
        policy_version(operator.team, "my-policy@canary")
    move(operator, line, "stable", 2)
    with pytest.raises(DocumentError, match="no alias 'canary'; its aliases: stable"):
        policy_version(operator.team, "my-policy@canary")
    with pytest.raises(DocumentError, match="this team has no such policy"):
        policy_version(stranger.team, "my-policy@stable")
