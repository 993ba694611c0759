"""Members of a team: seen by all, changed by admins, and gone with their tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.audit.models import AuditEntry
from controlplane.audit.services import INSTALLATION, verify
from controlplane.teams.members import add_member, remove_member, set_role
from controlplane.teams.models import Membership, Role, User
from controlplane.teams.rights import Actor, Denied
from documents.problem import DocumentError
from tests.controlplane.conftest import PASSWORD

MEMBERS = "/team/members/"


@pytest.fixture
def admin(actor_as: Callable[..., Actor]) -> Actor:
    return actor_as("admin")


@pytest.fixture
def admin_page(admin: Actor, page_as: Callable[[Actor], Client]) -> Client:
    return page_as(admin)


def member_of(actor: Actor) -> Membership:
    return Membership.objects.get(team=actor.team, user=actor.user)


def address(actor: Actor, verb: str) -> str:
    return f"{MEMBERS}{member_of(actor).pk}/{verb}/"


def test_an_admin_adds_changes_and_removes_and_each_is_written_down(
    admin: Actor, admin_page: Client
) -> None:
    User.objects.create_user("olek")
    admin_page.post(MEMBERS, {"username": "olek", "role": "viewer"})
    olek = Membership.objects.get(team=admin.team, user__username="olek")
    assert olek.role == "viewer"
    admin_page.post(f"{MEMBERS}{olek.pk}/role/", {"role": "operator"})
    olek.refresh_from_db()
    assert olek.role == "operator"
    gone = admin_page.post(f"{MEMBERS}{olek.pk}/remove/")
    assert gone["Location"] == MEMBERS
    assert not Membership.objects.filter(user__username="olek").exists()
    entries = AuditEntry.objects.filter(team_id=admin.team.pk, object_name="olek")
    assert [(one.verb, one.detail.get("was")) for one in entries.order_by("sequence")] == [
        ("add_member", None),
        ("set_role", "viewer"),
        ("remove_member", None),
    ]
    assert verify(admin.team.pk) is None


@pytest.mark.parametrize(
    ("name", "said"), [("nobody", "no active account"), ("admin-platform", "is a member already")]
)
def test_who_cannot_be_added_is_told_at_the_name(
    admin: Actor, admin_page: Client, name: str, said: str
) -> None:
    refused = admin_page.post(MEMBERS, {"username": name, "role": "viewer"})
    assert refused.status_code == 422
    assert said in refused.context["form"].errors["username"][0]
    assert Membership.objects.filter(team=admin.team).count() == 1


def test_an_account_that_is_switched_off_is_not_added(admin: Actor) -> None:
    User.objects.create_user("left", is_active=False)
    with pytest.raises(DocumentError, match="no active account"):
        add_member(actor=admin, username="left", role=Role.VIEWER)


def test_the_last_admin_can_be_neither_removed_nor_lowered(
    admin: Actor, admin_page: Client
) -> None:
    assert admin_page.post(address(admin, "remove")).status_code == 403
    assert admin_page.post(address(admin, "role"), {"role": "viewer"}).status_code == 403
    assert member_of(admin).role == "admin"
    shown = admin_page.get(MEMBERS).content.decode()
    assert "The only admin stays" in shown
    assert "data-open=" not in shown


def test_an_admin_may_leave_when_another_stays(admin: Actor) -> None:
    second = User.objects.create_user("second")
    set_role(actor=admin, user=second, role=Role.ADMIN)
    remove_member(actor=admin, member=member_of(admin))
    assert [one.user for one in Membership.objects.filter(team=admin.team)] == [second]


@pytest.mark.parametrize("role", ["viewer", "operator", "approver"])
def test_everyone_else_sees_the_list_and_changes_nothing(
    role: str,
    admin: Actor,
    actor_as: Callable[..., Actor],
    page_as: Callable[[Actor], Client],
) -> None:
    actor = actor_as(role)
    client = page_as(actor)
    shown = client.get(MEMBERS).content.decode()
    assert admin.user.get_username() in shown
    assert 'name="role"' not in shown
    for path, said in (
        (MEMBERS, {"username": "x", "role": "admin"}),
        (address(actor, "role"), {"role": "admin"}),
        (address(admin, "remove"), {}),
    ):
        assert client.post(path, said).status_code == 403
    assert member_of(actor).role == role
    denied = AuditEntry.objects.filter(team_id=admin.team.pk, outcome="denied")
    assert {one.verb for one in denied} == {"add_member", "set_role", "remove_member"}


def test_a_removed_members_tokens_stop_and_stay_dead_when_the_member_returns(
    admin: Actor, operator: Actor, api_as: Callable[..., Callable[..., Any]]
) -> None:
    call = api_as(operator)
    assert call("get", "/policies").status_code == 200
    remove_member(actor=admin, member=member_of(operator))
    assert call("get", "/policies").status_code == 401
    add_member(actor=admin, username=operator.user.get_username(), role=Role.OPERATOR)
    assert call("get", "/policies").status_code == 401


def test_a_removed_members_next_click_shows_nothing_of_the_team(
    admin: Actor, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(operator)
    assert client.get("/catalogue/policies/").status_code == 200
    remove_member(actor=admin, member=member_of(operator))
    assert client.get("/catalogue/policies/").status_code == 403


def test_a_token_of_an_admin_manages_no_members(admin: Actor, operator: Actor) -> None:
    token = admin.team.tokens.model(scopes=["read", "team:admin"], prefix="hw_forged")
    with pytest.raises(Denied):
        remove_member(
            actor=Actor(admin.user, admin.team, Role.ADMIN, token), member=member_of(operator)
        )


def test_a_sign_in_is_written_to_the_installations_log(operator: Actor, client: Client) -> None:
    name = operator.user.get_username()
    client.post("/sign-in/", {"username": name, "password": "wrong"})
    client.post("/sign-in/", {"username": name, "password": PASSWORD})
    entries = AuditEntry.objects.filter(team_id=INSTALLATION).order_by("sequence")
    assert [(one.verb, one.actor, one.outcome) for one in entries] == [
        ("sign_in", name, "denied"),
        ("sign_in", name, "done"),
    ]
