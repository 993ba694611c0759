"""Who may approve, with what, for how long, and what voids it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from controlplane.audit.models import AuditEntry
from controlplane.catalogue.models import PolicyVersion
from controlplane.gateways import services as gateways
from controlplane.rollouts import advancing, approving, deciding, freezing, services
from controlplane.rollouts.machine import Refused
from controlplane.rollouts.models import Approval, Rollout, StageRun
from controlplane.teams.models import Membership
from controlplane.teams.rights import Actor, Denied
from controlplane.teams.services import create_token
from documents.problem import DocumentError
from tests.controlplane.conftest import PASSWORD
from tests.controlplane.rollouts.conftest import World, told
from tests.controlplane.rollouts.plans import STAGES, plan

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting(propose: Callable[..., Rollout], operator: Actor) -> Rollout:
    """A rollout whose canary waits for one approval."""
    return services.start(actor=operator, rollout=propose("canary", "full"))


def approve(actor: Actor, rollout: Rollout, **changed: Any) -> Approval:
    given = {"binding": approving.binding_of(rollout), "password": PASSWORD, "comment": ""}
    return deciding.approve(actor=actor, rollout=rollout, **(given | changed))


def denials() -> list[str]:
    return list(
        AuditEntry.objects.filter(outcome="denied")
        .order_by("sequence")
        .values_list("verb", flat=True)
    )


def test_another_persons_approval_lets_the_stage_begin(
    world: World, waiting: Rollout, approver: Actor
) -> None:
    world.go()
    assert told(waiting)["phase"] == "waiting"
    given = approve(approver, waiting, comment="fine")
    assert given.binding == approving.binding_of(waiting)
    world.go()
    assert told(waiting)["phase"] == "running"
    entry = AuditEntry.objects.get(verb="approve_rollout")
    assert entry.detail["binding"] == given.binding
    assert "“fine”" in entry.detail["because"]


def test_a_token_can_never_approve(waiting: Rollout, approver: Actor) -> None:
    scopes = ["read", "runs:write"]
    token, _ = create_token(actor=approver, name="t", scopes=scopes, expires_at=None)
    program = Actor(approver.user, approver.team, approver.role, token)
    for verb in (lambda: approve(program, waiting), lambda: reject(program, waiting)):
        with pytest.raises(Denied, match="A token can never"):
            verb()
    assert denials() == ["approve_rollout", "reject_rollout"]


def reject(actor: Actor, rollout: Rollout, comment: str = "no") -> Rollout:
    return deciding.reject(actor=actor, rollout=rollout, comment=comment)


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_lesser_roles_cannot(role: str, waiting: Rollout, actor_as: Callable[..., Actor]) -> None:
    actor = Membership.objects.filter(role=role).first()
    someone = Actor(actor.user, waiting.team, role) if actor else actor_as(role)
    with pytest.raises(Denied, match="needs the right approve"):
        approve(someone, waiting)
    assert denials() == ["approve_rollout"]


@pytest.mark.parametrize("part", ["created_by", "edited_by"])
def test_who_made_the_change_cannot(part: str, waiting: Rollout, approver: Actor) -> None:
    Rollout.objects.filter(pk=waiting.pk).update(**{part: approver.user})
    waiting.refresh_from_db()
    with pytest.raises(Denied, match="had no part in the change"):
        approve(approver, waiting)


def test_who_wrote_the_candidate_cannot(
    world: World, operator: Actor, approver: Actor, propose: Callable[..., Rollout]
) -> None:
    member = Membership.objects.get(user=operator.user)
    member.role = "approver"
    member.save()
    author = Actor(operator.user, operator.team, member.role)
    rollout = services.start(actor=approver, rollout=propose("canary", "full", actor=approver))
    with pytest.raises(Denied, match="wrote the candidate version"):
        approve(author, rollout)


def test_a_stage_can_ask_for_an_admin(
    propose: Callable[..., Rollout],
    operator: Actor,
    approver: Actor,
    actor_as: Callable[..., Actor],
) -> None:
    stages = [STAGES[3] | {"role": "admin"}, STAGES[4]]
    rollout = services.start(actor=operator, rollout=propose(stages=stages))
    with pytest.raises(Denied, match="needs the role admin"):
        approve(approver, rollout)
    approve(actor_as("admin"), rollout)


def test_two_of_two_are_needed_where_the_plan_says_so(
    world: World,
    propose: Callable[..., Rollout],
    operator: Actor,
    approver: Actor,
    actor_as: Callable[..., Actor],
) -> None:
    stages = [STAGES[3] | {"approvals": 2}, STAGES[4]]
    rollout = services.start(actor=operator, rollout=propose(stages=stages))
    approve(approver, rollout)
    with pytest.raises(Refused, match="approved this stage already"):
        approve(approver, rollout)
    world.go()
    assert told(rollout)["phase"] == "waiting"
    approve(actor_as("admin"), rollout)
    world.go()
    assert told(rollout)["phase"] == "running"


def test_the_password_is_asked_again_and_guessing_is_braked(
    waiting: Rollout, approver: Actor
) -> None:
    for _ in range(5):
        with pytest.raises(DocumentError, match="is not your password"):
            approve(approver, waiting, password="a guess")
    with pytest.raises(DocumentError, match="too many failed attempts"):
        approve(approver, waiting)
    assert not waiting.approvals.exists()


def test_an_approval_is_of_what_was_read(waiting: Rollout, approver: Actor) -> None:
    with pytest.raises(Refused, match="changed since you read it"):
        approve(approver, waiting, binding="0" * 64)


def test_an_edit_voids_every_approval_and_bars_its_editor(
    world: World, waiting: Rollout, approver: Actor, actor_as: Callable[..., Actor]
) -> None:
    approve(approver, waiting)
    admin = actor_as("admin")
    stages = [STAGES[3] | {"blocks": 50}, STAGES[4]]
    edited = services.edit(actor=admin, rollout=waiting, document=plan(stages=stages))
    assert edited.plan_sha256 != waiting.plan_sha256
    assert Approval.objects.get().voided_at is not None
    world.go()
    assert told(waiting)["phase"] == "waiting"
    with pytest.raises(Denied, match="edited this rollout last"):
        approve(admin, edited)
    approve(approver, edited)
    world.go()
    assert told(waiting)["phase"] == "running"


def test_what_has_run_cannot_be_edited(world: World, in_canary: Rollout, operator: Actor) -> None:
    with pytest.raises(Refused, match="hold it first"):
        services.edit(actor=operator, rollout=in_canary, document=plan("canary", "full", seed=8))
    world.blocks(range(25))
    world.through_blocks(21, in_canary)
    stages = [STAGES[3] | {"blocks": 50}, STAGES[4]]
    with pytest.raises(DocumentError, match="the first 1 have run"):
        services.edit(actor=operator, rollout=in_canary, document=plan(stages=stages))
    later = [STAGES[3], {"stage": "full", "bake_s": 300}]
    services.edit(actor=operator, rollout=in_canary, document=plan(stages=later))
    with pytest.raises(DocumentError, match="fixed once a rollout has started"):
        services.edit(actor=operator, rollout=in_canary, document=plan(stages=later, alpha=0.1))


def test_an_approval_lapses_and_counts_only_while_its_giver_may_approve(
    world: World, waiting: Rollout, approver: Actor
) -> None:
    given = approve(approver, waiting)
    now = timezone.now()
    assert approving.holding(waiting, now) == [given]
    assert approving.holding(waiting, now + timedelta(hours=25)) == []
    Membership.objects.filter(user=approver.user).update(role="operator")
    assert approving.holding(waiting, now) == []
    world.go()
    assert told(waiting)["phase"] == "waiting"


def test_an_approval_is_checked_again_when_it_is_applied(
    world: World,
    waiting: Rollout,
    approver: Actor,
    version_of: Callable[..., PolicyVersion],
) -> None:
    approve(approver, waiting)
    other = version_of("other", limit=3)
    gateways.set_active(gateway=world.gateway, version=other, by="someone", reason="")
    world.go()
    assert told(waiting)["phase"] == "held"
    assert "could not begin" in waiting.because
    world.gateway.refresh_from_db()
    assert world.gateway.canary is None


def test_a_rejection_says_why_and_ends_it(waiting: Rollout, approver: Actor) -> None:
    with pytest.raises(DocumentError, match="say why"):
        reject(approver, waiting, " ")
    reject(approver, waiting, "errors are too likely")
    assert told(waiting)["phase"] == "aborted"
    assert "errors are too likely" in waiting.because


def test_a_person_can_accept_what_is_too_rare_to_tell(
    world: World,
    propose: Callable[..., Rollout],
    operator: Actor,
    approver: Actor,
) -> None:
    stages = [STAGES[3] | {"criteria": [{"kind": "errors"}], "blocks": 22}, STAGES[4]]
    rollout = services.start(actor=operator, rollout=propose(stages=stages))
    approve(approver, rollout)
    world.go()
    world.blocks(range(22))
    world.through_blocks(23, rollout)
    assert told(rollout)["phase"] == "held", rollout.because
    given = {"rollout": rollout, "password": PASSWORD, "comment": "22 clean blocks will do"}
    with pytest.raises(DocumentError, match="too rare to tell: errors"):
        deciding.accept(actor=approver, criteria=["attainment"], **given)
    with pytest.raises(Denied):
        deciding.accept(actor=operator, criteria=["errors"], **given)
    deciding.accept(actor=approver, criteria=["errors"], **given)
    world.go()
    assert (told(rollout)["phase"], rollout.stage) == ("waiting", 1)
    assert StageRun.objects.get().evidence["evidence"]["accepted"] == {"errors": approver.name}


def test_a_freeze_is_set_and_taken_away_by_who_may_approve(
    operator: Actor, approver: Actor, waiting: Rollout
) -> None:
    now = timezone.now()
    span = {"starts_at": now, "ends_at": now + timedelta(hours=1), "reason": "sale"}
    with pytest.raises(Denied):
        freezing.freeze(actor=operator, **span)
    window = freezing.freeze(actor=approver, **span)
    assert advancing.freeze(waiting, now) == window
    freezing.thaw(actor=approver, window=window)
    assert advancing.freeze(waiting, now) is None
    for changed in ({"ends_at": now}, {"ends_at": now + timedelta(days=40)}, {"reason": " "}):
        with pytest.raises(DocumentError):
            freezing.freeze(actor=approver, **(span | changed))
