"""Proposing, starting, holding, aborting and trying again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controlplane.audit.models import AuditEntry
from controlplane.catalogue import evidence
from controlplane.catalogue.models import PolicyVersion
from controlplane.gateways import services as gateways
from controlplane.gateways.models import Gateway
from controlplane.rollouts import proposing, services
from controlplane.rollouts.machine import Phase, Refused
from controlplane.rollouts.models import Rollout
from controlplane.rollouts.plan import RolloutPlan
from controlplane.teams.rights import Actor, Denied
from documents.problem import DocumentError
from tests.controlplane.rollouts.conftest import World, told
from tests.controlplane.rollouts.plans import STAGES, plan

pytestmark = pytest.mark.django_db


def test_a_proposal_names_the_very_version_and_touches_nothing(
    propose: Callable[..., Rollout], candidate: PolicyVersion, steady: PolicyVersion, edge: Gateway
) -> None:
    rollout = propose(candidate="steady")
    assert rollout.phase == Phase.DRAFT
    assert rollout.plan["spec"]["candidate"] == "steady@2", "newest when it was proposed"
    assert (rollout.baseline_version, rollout.candidate_version) == (steady, candidate)
    edge.refresh_from_db()
    assert edge.revision == 1
    assert AuditEntry.objects.get(verb="propose_rollout").detail["plan_sha256"] == (
        rollout.plan_sha256
    )


@pytest.mark.parametrize(
    ("spec", "path", "words"),
    [
        ({"gateway": "away"}, "spec.gateway", "no such gateway"),
        ({"candidate": "away"}, "spec.candidate", "no such policy"),
        ({"workload": "away"}, "spec.workload", "no such workload"),
        ({"candidate": "steady@1"}, "spec.candidate", "which serves already"),
        (
            {"stages": [STAGES[3] | {"weight": 0.1}, STAGES[4]]},
            "spec.stages.0.weight",
            "third lane",
        ),
        (
            {"stages": [STAGES[0] | {"profile": "abacus"}, *STAGES[3:]]},
            "spec.stages.0.profile",
            "abacus",
        ),
        (
            {"stages": [STAGES[1] | {"endpoints": ["a", "b"]}, *STAGES[3:]]},
            "spec.stages.0.endpoints",
            "no such endpoint",
        ),
    ],
)
def test_what_could_not_be_done_is_told_when_it_is_proposed(
    spec: dict[str, Any],
    path: str,
    words: str,
    propose: Callable[..., Rollout],
) -> None:
    with pytest.raises(DocumentError) as caught:
        propose(**spec)
    found = {one.path: str(one) for one in caught.value.problems}
    assert words in found.get(path, ""), found


def test_a_viewer_proposes_and_starts_nothing(
    propose: Callable[..., Rollout], actor_as: Callable[..., Actor]
) -> None:
    viewer = actor_as("viewer")
    with pytest.raises(Denied):
        propose(actor=viewer)
    rollout = propose()
    verbs = (services.start, services.hold, services.resume, services.abort, services.retry)
    for verb in verbs:
        if verb is services.retry:
            continue
        with pytest.raises(Denied):
            verb(actor=viewer, rollout=rollout)
    assert AuditEntry.objects.filter(outcome="denied").count() == len(verbs)


def put(rollout: Rollout, phase: str, stage: int) -> None:
    Rollout.objects.filter(pk=rollout.pk).update(phase=phase, stage=stage)
    rollout.refresh_from_db()


def test_abort_works_in_every_state_and_takes_everything_back(
    world: World,
    propose: Callable[..., Rollout],
    operator: Actor,
    approved: Callable[[Rollout], None],
    candidate: PolicyVersion,
    steady: PolicyVersion,
) -> None:
    def stages_seen() -> list[Rollout]:
        """One rollout after the other, each aborted one step later than the one before."""
        found = []
        steps: list[Callable[[Rollout], object]] = [
            lambda one: services.start(actor=operator, rollout=one),
            lambda _one: world.go(),
            lambda one: (world.shadowed(candidate), world.go(10), world.go(19), world.go(3)),
            lambda one: (approved(one), world.go()),
            lambda one: (world.blocks(range(25)), world.through_blocks(21, one)),
            lambda one: (approved(one), world.go()),
        ]
        for count in range(len(steps) + 1):
            rollout = propose("shadow", "canary", "full")
            for one in steps[:count]:
                one(rollout)
                rollout.refresh_from_db()
                assert rollout.phase != "held", rollout.because
            found.append(told(rollout) | {"count": count})
            services.abort(actor=operator, rollout=rollout, reason="enough")
            world.heard()
            world.traffic()
            world.gateway.refresh_from_db()
            gateway = world.gateway
            assert (gateway.canary, gateway.shadow_version) == (None, None), count
            assert gateway.active_version == steady, count
            assert told(rollout)["phase"] == "aborted"
            with pytest.raises(Refused, match="already"):
                services.abort(actor=operator, rollout=rollout)
        return found

    seen = [(one["phase"], one["stage"]) for one in stages_seen()]
    assert seen == [
        ("draft", 0), ("waiting", 0), ("running", 0), ("waiting", 1), ("running", 1),
        ("waiting", 2), ("running", 2),
    ]  # fmt: skip
    assert AuditEntry.objects.filter(verb="abort_rollout").count() == len(seen)


def test_abort_works_while_it_is_held(world: World, in_canary: Rollout, operator: Actor) -> None:
    services.hold(actor=operator, rollout=in_canary, reason="let me look")
    assert told(in_canary)["because"] == "let me look"
    services.abort(actor=operator, rollout=in_canary)
    world.gateway.refresh_from_db()
    assert world.gateway.canary is None


def test_a_persons_hold_keeps_the_canary_and_going_on_takes_what_was_gathered(
    world: World, in_canary: Rollout, operator: Actor
) -> None:
    services.hold(actor=operator, rollout=in_canary)
    world.blocks(range(25))
    world.through_blocks(22, in_canary)
    assert told(in_canary)["phase"] == "held", "nothing is promoted meanwhile"
    services.resume(actor=operator, rollout=in_canary)
    world.go()
    assert told(in_canary)["stage"] == 1


def test_trying_again_is_a_new_linked_draft_of_the_same_plan(
    in_canary: Rollout, operator: Actor
) -> None:
    with pytest.raises(Refused, match="abort it first"):
        services.retry(actor=operator, rollout=in_canary)
    services.abort(actor=operator, rollout=in_canary)
    in_canary.refresh_from_db()
    again = services.retry(actor=operator, rollout=in_canary)
    assert (again.retry_of, again.number, again.phase) == (in_canary, 2, "draft")
    assert again.plan_sha256 == in_canary.plan_sha256


def test_a_draft_of_yesterday_does_not_start_against_todays_version(
    propose: Callable[..., Rollout],
    operator: Actor,
    world: World,
    version_of: Callable[..., PolicyVersion],
) -> None:
    rollout = propose("canary", "full")
    other = version_of("other", limit=3)
    gateways.serve(actor=operator, gateway=world.gateway, version=other)
    with pytest.raises(Refused, match="serves another version"):
        services.start(actor=operator, rollout=Rollout.objects.get(pk=rollout.pk))


def test_an_equal_plan_is_no_edit(propose: Callable[..., Rollout], operator: Actor) -> None:
    rollout = propose("canary", "full")
    edited = services.edit(actor=operator, rollout=rollout, document=plan("canary", "full"))
    assert edited.seq == rollout.seq


def test_a_plan_too_small_for_its_margins_is_warned_of_before_anybody_approves(
    propose: Callable[..., Rollout],
) -> None:
    narrow = [STAGES[3] | {"criteria": [{"kind": "attainment", "pass_margin": 0.001}]}, STAGES[4]]
    (told,) = propose(stages=narrow).power
    (row,) = told["criteria"]
    assert row["pass"] < 0.8
    assert "An equal candidate would pass" in " ".join(row["warnings"])
    (told,) = propose("canary", "full").power
    assert told["criteria"][0]["pass"] > 0.8


def test_a_versions_page_knows_its_rollouts(
    propose: Callable[..., Rollout], operator: Actor, candidate: PolicyVersion
) -> None:
    rollout = propose("canary", "full")
    (use,) = evidence.uses(candidate)
    assert (use.noun, use.href, use.how) == ("Rollout", rollout.get_absolute_url(), "draft")
    services.abort(actor=operator, rollout=rollout)
    assert evidence.uses(candidate) == []
    (entry,) = evidence.entries(candidate)
    assert (entry.name, entry.word) == (rollout.short_id, "Aborted")


@pytest.mark.parametrize(
    ("stages", "points"),
    [
        (("canary", "full"), 4),
        (("model", "load_test", "canary", "full"), 4),
        (("shadow", "canary", "full"), 1),
    ],
)
def test_a_version_is_refused_where_it_differs_at_a_point_that_a_stage_does_not_enforce(
    edge: Gateway, steady: PolicyVersion, stages: tuple[str, ...], points: int
) -> None:
    """Of the six points the driver and the gateway enforce four, and a shadow one."""
    laws = {
        "admission": "kv_reserve", "ordering": "edf", "concurrency": "fixed",
        "batching": "static", "preemption": "lifo", "retry": "full_jitter",
    }  # fmt: skip
    shown = 0
    for point, name in laws.items():
        law = {"law": name} | ({"limit": 3} if name == "fixed" else {})
        spec = steady.document["spec"] | {point: law}
        candidate = PolicyVersion(document={**steady.document, "spec": spec})
        asked = RolloutPlan.parse(plan(*stages, candidate="steady"))
        problems = list(proposing.unshown(edge, candidate, asked))
        assert all(f"differs in {point}" in each.message for each in problems)
        shown += not problems
    assert shown == points
