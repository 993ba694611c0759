"""What a policy may know of a request: its owner, its lengths, when it is due, what it takes."""

from __future__ import annotations

import pytest

from loadtest.roster import Known, Roster
from loadtest.scenario import Tenant
from loadtest.schedule import Job
from loadtest.workloads.base import Shape
from measurement.slo import Slo
from tests.loadtest.simulation.policies import slo

JOB = Job(7, 2.0, Shape(1000, 40, "urgent"))


def roster(limit_ms: float | None = 800.0) -> Roster:
    objectives = None if limit_ms is None else Slo.parse(slo(limit_ms))
    return Roster(Known({"urgent": Tenant("vip", 2.0)}, objectives, 10_000.0, 0.01))


def test_a_request_is_known_by_its_tenant_and_when_it_is_due() -> None:
    made = roster().enter(JOB, 2.5)
    assert (made.tier, made.weight, made.prompt_tokens, made.max_tokens) == ("vip", 2.0, 1000, 40)
    assert made.deadline_at == pytest.approx(2.8)
    assert made.service_s == pytest.approx(0.11)
    assert made.expected_output is None, "nobody knows how long an answer will be"


def test_without_an_objective_it_is_never_due_and_nothing_is_foretold() -> None:
    made = roster(None).enter(JOB, 2.5)
    assert (made.deadline_at, made.service_s) == (None, None)


def test_what_a_busy_engine_adds_is_foretold_to_those_who_come_later() -> None:
    one = roster()
    one.enter(JOB, 2.0)
    one.leave(JOB, None, 2.0)
    assert one.enter(JOB, 2.0).service_s == pytest.approx(0.11), "no first token tells nothing"
    for seconds in (0.31, 0.51):
        one.leave(JOB, seconds, 2.0)
        one.enter(JOB, 2.0)
    assert one[JOB.index].service_s == pytest.approx(0.41)
    one.leave(JOB, 0.0, 2.0)
    assert one.enter(JOB, 2.0).service_s >= 0.11


def test_an_engine_that_was_too_busy_once_is_not_thought_so_for_ever() -> None:
    one = roster()
    one.enter(JOB, 2.0)
    one.leave(JOB, 9.11, 12.0)
    known = one.enter(JOB, 12.0)
    assert known.service_s is not None
    assert known.service_s > 0.8, "whoever comes now is hopeless"
    assert one.enter(JOB, 31.0).service_s == pytest.approx(0.11), "and who comes later isn't"
