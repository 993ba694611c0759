"""What evidence and time do to a rollout, told in the rows that a gateway's telemetry leaves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from controlplane.audit.models import AuditEntry
from controlplane.catalogue.models import PolicyVersion
from controlplane.catalogue.services import aliases
from controlplane.comparisons.models import Comparison
from controlplane.gateways import services as gateways
from controlplane.gateways.models import GatewayBudget
from controlplane.rollouts import advancing, presenting, services
from controlplane.rollouts.machine import Refused
from controlplane.rollouts.models import FreezeWindow, Rollout
from controlplane.runs.models import Status
from controlplane.teams.rights import Actor
from measurement.comparison.stored import recompute
from tests.controlplane.rollouts.conftest import START, World, told
from tests.controlplane.rollouts.plans import STAGES

pytestmark = pytest.mark.django_db


def verbs(rollout: Rollout) -> list[str]:
    return [event.verb for event in rollout.events.order_by("seq")]


def test_equal_arms_pass_and_the_version_serves_everywhere_when_people_agree(
    world: World,
    in_canary: Rollout,
    approved: Callable[[Rollout], None],
    candidate: PolicyVersion,
) -> None:
    world.blocks(range(25))
    world.through_blocks(19, in_canary)
    assert told(in_canary)["phase"] == "running", "nothing passes before 20 blocks"
    world.through_blocks(21, in_canary)
    assert (told(in_canary)["phase"], in_canary.stage) == ("waiting", 1)
    run = in_canary.stage_runs.get(kind="canary")
    assert run.finding == "pass"
    assert run.evidence["verdict"]["outcome"] == "pass"
    assert recompute(run.evidence) == run.evidence, "made again byte for byte"
    world.go(100)
    assert in_canary.gateway.active_version_id != candidate.pk, "it waits for its approval"

    approved(in_canary)
    world.go()
    world.gateway.refresh_from_db()
    assert (world.gateway.active_version_id, world.gateway.canary) == (candidate.pk, None)
    world.go(5)
    assert told(in_canary)["phase"] == "running", "its bake time is not over"
    world.go(20)
    assert told(in_canary)["phase"] == "done"
    assert aliases.current(candidate.line, "stable") == candidate
    assert verbs(in_canary) == [
        "propose", "start", "approve", "enter", "pass", "approve", "enter", "pass",
    ]  # fmt: skip
    noted = AuditEntry.objects.filter(object_kind="rollout").order_by("sequence")
    assert [one.verb for one in noted] == [f"{verb}_rollout" for verb in verbs(in_canary)]


def test_harm_rolls_itself_back_within_two_windows_with_its_reason(
    world: World, in_canary: Rollout, candidate: PolicyVersion
) -> None:
    world.blocks(range(25), baseline=1, candidate=40)
    run = in_canary.stage_runs.get()
    seen = 0
    for count in range(1, 25):
        world.through_blocks(count, in_canary)
        seen = count
        if told(in_canary)["phase"] == "rolled_back":
            break
    assert told(in_canary)["phase"] == "rolled_back"
    run.refresh_from_db()
    assert run.evidence["verdict"]["k"] >= seen - 2, "within two windows of the harm"
    assert "Harm because attainment was missed" in told(in_canary)["because"]
    world.gateway.refresh_from_db()
    assert (world.gateway.canary, world.gateway.shadow_version) == (None, None)
    assert world.gateway.active_version_id != candidate.pk
    (entry,) = AuditEntry.objects.filter(verb="roll_back_rollout")
    assert "Harm because" in entry.detail["because"]
    assert AuditEntry.objects.filter(verb="roll_back", object_kind="gateway").count() == 1


def test_a_candidate_that_cannot_be_reached_is_stopped_at_once(
    world: World, in_canary: Rollout
) -> None:
    world.blocks(range(1), candidate=60, outcomes={"connect": 60})
    world.through_blocks(1, in_canary)
    assert told(in_canary)["phase"] == "rolled_back"
    assert "could not be reached" in in_canary.because


def test_undecided_at_its_end_is_held_and_asks_a_person(world: World, in_canary: Rollout) -> None:
    for index in range(40):  # now the one is far worse, now the other
        world.blocks(
            range(index, index + 1), baseline=50 * (index % 2), candidate=50 * (1 - index % 2)
        )
    world.through_blocks(41, in_canary)
    assert told(in_canary)["phase"] == "held"
    assert "Inconclusive because" in in_canary.because
    assert "a person decides" in in_canary.because


def test_silence_is_no_evidence_of_health(world: World, in_canary: Rollout) -> None:
    world.blocks(range(2))
    world.through_blocks(2, in_canary)
    world.talks = False
    world.go(5)
    assert told(in_canary)["phase"] == "running", "three slots, and ten seconds, are granted"
    world.go(7)
    assert told(in_canary)["phase"] == "held"
    assert "stale" in in_canary.because


def test_a_gap_in_the_blocks_is_held(world: World, in_canary: Rollout) -> None:
    world.blocks(range(3))
    world.blocks(range(4, 25))
    world.through_blocks(25, in_canary)
    assert told(in_canary)["phase"] == "held"
    assert "missing" in in_canary.because


def test_the_wrong_version_in_an_arm_is_held(world: World, in_canary: Rollout) -> None:
    from controlplane.gateways.models import GatewayBlock

    world.blocks(range(3))
    GatewayBlock.objects.filter(arm="candidate", block=1).update(policy="f" * 64)
    world.through_blocks(3, in_canary)
    assert told(in_canary)["phase"] == "held"
    assert "is approved" in in_canary.because


def test_somebody_elses_change_of_the_gateway_is_held(
    world: World, in_canary: Rollout, version_of: Callable[..., PolicyVersion]
) -> None:
    other = version_of("other", limit=3)
    gateways.set_active(gateway=world.gateway, version=other, by="someone", reason="in a hurry")
    world.go()
    assert told(in_canary)["phase"] == "held"
    assert "another version" in in_canary.because


def test_after_an_outage_of_ours_what_was_buffered_counts_before_silence_does(
    world: World, in_canary: Rollout
) -> None:
    world.blocks(range(3))
    world.through_blocks(3, in_canary)
    world.talks = False
    world.now += timedelta(seconds=60)
    advancing.tick(world.now)
    assert told(in_canary)["phase"] == "running", "we were away, not the gateway"
    world.now += timedelta(seconds=5)
    world.blocks(range(3, 30))
    world.talks = True
    world.go()
    assert told(in_canary)["stage"] == 1, "the buffered blocks passed it"


def test_after_an_outage_everything_overdue_folds_into_one_step_and_no_approval_is_skipped(
    world: World, in_canary: Rollout
) -> None:
    world.blocks(range(40))
    world.now += timedelta(hours=3)
    world.heard()
    assert advancing.tick(world.now) == 1
    assert (told(in_canary)["phase"], in_canary.stage) == ("waiting", 1)
    for _ in range(3):
        assert world.go(3600) == 0, "full still waits for its approval"


def test_the_same_blocks_looked_at_twice_are_one_look(world: World, in_canary: Rollout) -> None:
    world.blocks(range(10))
    world.through_blocks(10, in_canary)
    in_canary.refresh_from_db()
    seq, events = in_canary.seq, in_canary.events.count()
    for _ in range(3):
        assert advancing.tick(world.now) == 0
    in_canary.refresh_from_db()
    assert (in_canary.seq, in_canary.events.count()) == (seq, events)


def test_harm_rolls_back_while_the_next_stage_waits_for_people(
    world: World, in_canary: Rollout
) -> None:
    world.blocks(range(21))
    world.through_blocks(21, in_canary)
    assert told(in_canary)["phase"] == "waiting"
    world.blocks(range(21, 38), candidate=50)
    world.through_blocks(38, in_canary)
    assert told(in_canary)["phase"] == "rolled_back"
    assert "Harm" in in_canary.because


def test_harm_after_a_gap_rolls_back_what_is_held_for_the_gap(
    world: World, in_canary: Rollout
) -> None:
    world.blocks(range(3))
    world.blocks(range(4, 6))
    world.through_blocks(6, in_canary)
    assert told(in_canary)["phase"] == "held"
    world.blocks(range(6, 30), candidate=50)
    world.through_blocks(30, in_canary)
    assert told(in_canary)["phase"] == "rolled_back"
    stored = in_canary.stage_runs.get().evidence
    assert stored["guard"]["outcome"] == "harm"
    assert recompute(stored)["verdict"] == stored["verdict"], "the first decision is kept as it was"


def test_harm_rolls_back_while_a_person_holds_it(
    world: World, in_canary: Rollout, operator: Actor
) -> None:
    services.hold(actor=operator, rollout=in_canary)
    world.blocks(range(25), candidate=50)
    world.through_blocks(25, in_canary)
    assert told(in_canary)["phase"] == "rolled_back"


def test_a_canary_without_traffic_cannot_begin_and_says_what_helps(
    world: World,
    propose: Callable[..., Rollout],
    operator: Actor,
    approved: Callable[[Rollout], None],
) -> None:
    rollout = services.start(actor=operator, rollout=propose("canary", "full"))
    approved(rollout)
    world.go(900)
    assert told(rollout)["phase"] == "held"
    assert "Send traffic through it" in rollout.because
    world.traffic()
    services.resume(actor=operator, rollout=rollout)
    world.go()
    assert told(rollout)["phase"] == "waiting", "another attempt asks for its approval again"
    approved(rollout)
    world.go()
    assert (told(rollout)["phase"], rollout.attempt) == ("running", 2)


def test_a_canary_that_traffic_is_too_thin_for_is_not_begun(
    world: World,
    propose: Callable[..., Rollout],
    operator: Actor,
    approved: Callable[[Rollout], None],
) -> None:
    stages = [STAGES[3] | {"deadline_s": 30}, STAGES[4]]
    rollout = services.start(actor=operator, rollout=propose(stages=stages))
    approved(rollout)
    world.go()
    assert told(rollout)["phase"] == "held"
    assert "take longer than the stage's 30 s" in rollout.because


def test_a_freeze_stops_promotions_and_never_a_rollback(
    world: World,
    in_canary: Rollout,
    approved: Callable[[Rollout], None],
) -> None:
    world.blocks(range(40), candidate=0)
    world.through_blocks(21, in_canary)
    FreezeWindow.objects.create(
        team=in_canary.team, starts_at=START, ends_at=START + timedelta(hours=1), reason="sale"
    )
    in_canary.refresh_from_db()
    approved(in_canary)
    world.go()
    assert told(in_canary)["phase"] == "waiting"
    world.go(3600)
    assert told(in_canary)["phase"] == "running"


@pytest.mark.parametrize(
    "case",
    [("joint", 40, -0.2, False), ("tenant", 10, 0.0, False), ("joint", 40, 0.1, True),
     ("joint", 9, -3.0, True), ("joint", 0, None, True)],
)  # fmt: skip
def test_a_spent_error_budget_stops_what_would_act_on_traffic_and_says_so(
    world: World,
    propose: Callable[..., Rollout],
    operator: Actor,
    approved: Callable[[Rollout], None],
    case: tuple[str, int, float | None, bool],
) -> None:
    scope, missed, left, begins = case
    slo = world.gateway.slo_version
    assert slo is not None
    world.traffic()
    rollout = services.start(actor=operator, rollout=propose("canary", "full"))
    approved(rollout)
    budget = GatewayBudget.objects.create(
        gateway=world.gateway, scope=scope, name="acme" if scope == "tenant" else "",
        slo=slo.sha256, target=0.99, state="page", since=START, at=START, seq=1,
        data={"budget": {"missed": missed, "left": left}},
    )  # fmt: skip
    world.go()
    assert (told(rollout)["phase"] == "running") is begins
    said = presenting.bar_of(rollout, world.now)["because"]
    assert ("error budget of" in said) is not begins
    budget.delete()
    world.go()
    assert told(rollout)["phase"] == "running"


def test_shadow_passes_after_its_bake_time_within_margins(
    world: World, propose: Callable[..., Rollout], operator: Actor, candidate: PolicyVersion
) -> None:
    rollout = services.start(actor=operator, rollout=propose("shadow", "canary", "full"))
    world.go()
    world.gateway.refresh_from_db()
    assert world.gateway.shadow_version_id == candidate.pk
    world.shadowed(candidate)
    world.go(10)
    assert told(rollout)["phase"] == "running"
    world.go(25)
    assert (told(rollout)["phase"], rollout.stage) == ("waiting", 1)
    world.gateway.refresh_from_db()
    assert world.gateway.shadow_version is None
    assert "would have been held" in rollout.stage_runs.get().because


@pytest.mark.parametrize(
    ("report", "words"),
    [
        ({"would_have_held": 200}, "held back more"),
        ({"steps": 20, "agreeing": 20}, "had stepped 20 times"),
    ],
)
def test_shadow_outside_its_margins_holds_and_asks(
    report: dict[str, int],
    words: str,
    world: World,
    propose: Callable[..., Rollout],
    operator: Actor,
    candidate: PolicyVersion,
) -> None:
    rollout = services.start(actor=operator, rollout=propose("shadow", "canary", "full"))
    world.go()
    world.shadowed(candidate, **report)
    world.go(15)
    world.go(200)
    assert told(rollout)["phase"] == "held"
    assert words in rollout.because


def comparison_of(rollout: Rollout) -> Comparison:
    found = rollout.stage_runs.latest("entered_at").comparison
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("values", "phase"),
    [
        ({"status": Status.DONE, "outcome": "harm", "because": "Harm because."}, "rolled_back"),
        ({"status": Status.DONE, "outcome": "inconclusive", "because": "Inconclusive."}, "held"),
        ({"status": Status.DONE, "outcome": "invalid", "because": "Invalid."}, "held"),
        ({"status": Status.LOST, "reason": "its worker died"}, "held"),
        ({"status": Status.RUNNING}, "running"),
    ],
)
def test_the_model_decides_by_its_comparison(
    values: dict[str, str],
    phase: str,
    world: World,
    propose: Callable[..., Rollout],
    operator: Actor,
) -> None:
    rollout = services.start(actor=operator, rollout=propose())
    world.go()
    assert told(rollout)["phase"] == "running"
    Comparison.objects.filter(pk=comparison_of(rollout).pk).update(**values)
    world.go()
    assert told(rollout)["phase"] == phase
    assert rollout.stage == 0


def test_model_and_load_test_lead_on_when_they_pass(
    world: World, propose: Callable[..., Rollout], operator: Actor
) -> None:
    rollout = services.start(actor=operator, rollout=propose())
    for kind in ("model", "load_test"):
        world.go()
        assert rollout.stage_runs.latest("entered_at").kind == kind, told(rollout)["because"]
        passed = {"status": Status.DONE, "outcome": "pass", "because": "Passing."}
        Comparison.objects.filter(pk=comparison_of(rollout).pk).update(**passed)
        world.go()
    assert told(rollout)["stage"] == 2


def test_full_is_rolled_back_when_most_requests_fail_under_it(
    world: World,
    in_canary: Rollout,
    approved: Callable[[Rollout], None],
    candidate: PolicyVersion,
) -> None:
    world.blocks(range(25))
    world.through_blocks(21, in_canary)
    in_canary.refresh_from_db()
    approved(in_canary)
    world.go()
    world.gateway.refresh_from_db()
    assert world.gateway.active_version_id == candidate.pk
    world.go(3)
    world.now += timedelta(seconds=20)
    world.traffic(400, failed=380, seconds=20)
    world.go()
    assert told(in_canary)["phase"] == "rolled_back", in_canary.because
    world.gateway.refresh_from_db()
    assert world.gateway.active_version_id == in_canary.baseline_version_id


def test_full_that_is_held_is_rolled_back_when_most_requests_fail(
    world: World,
    in_canary: Rollout,
    operator: Actor,
    approved: Callable[[Rollout], None],
) -> None:
    world.blocks(range(25))
    world.through_blocks(21, in_canary)
    approved(in_canary)
    world.go()
    services.hold(actor=operator, rollout=in_canary)
    world.now += timedelta(seconds=24)
    world.traffic(400, failed=380, seconds=20)
    world.go()
    assert told(in_canary)["phase"] == "rolled_back"


def test_one_rollout_broken_inside_does_not_stop_the_others(
    world: World,
    in_canary: Rollout,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_given: object) -> bool:
        raise KeyError("setting")

    monkeypatch.setattr(advancing, "advance", broken)
    assert advancing.tick(world.now) == 0
    assert "could not be taken on" in caplog.text


def test_one_rollout_at_a_time_has_a_gateway(
    world: World, in_canary: Rollout, propose: Callable[..., Rollout], operator: Actor
) -> None:
    second = propose("canary", "full")
    assert services.conflicts(second) == [in_canary]
    with pytest.raises(Refused, match="under way on edge"):
        services.start(actor=operator, rollout=second)
