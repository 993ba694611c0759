"""What runs and gates say of a policy version: evidence, use, and two versions under one load."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.catalogue import evidence
from controlplane.catalogue.models import PolicyVersion
from controlplane.catalogue.services import aliases
from controlplane.catalogue.services.lines import save_policy
from controlplane.gates.examples import example
from controlplane.gates.services import save_gate
from controlplane.runs import services
from controlplane.runs.launch import Launch
from controlplane.runs.models import Run, Status
from controlplane.teams.rights import Actor
from tests.controlplane.runs.conftest import POLICY

pytestmark = pytest.mark.django_db


def summary(ttft_p99: float | None) -> dict[str, Any]:
    quantiles = {"p50": 100.0, "p95": 200.0, "p99": ttft_p99, "n": 5_000}
    return {
        "attainment": 0.975,
        "attainment_n": 4_900,
        "goodput_rps": 19.5,
        "offered": 5_000,
        "ttft_ms": quantiles,
        "tpot_ms": {**quantiles, "p99": 50.0},
    }


@pytest.fixture
def second(actor: Actor, policy_version: PolicyVersion) -> PolicyVersion:
    document = {**POLICY, "spec": {"concurrency": {"law": "fixed", "limit": 16}}}
    return save_policy(actor=actor, line=policy_version.line, document=document).version


@pytest.fixture
def ended(actor: Actor, launch: Launch) -> Callable[..., Run]:
    """``ended(version, seed=…, rate=…)``: a run of it that is over."""

    def make(
        version: PolicyVersion,
        *,
        seed: int = 1,
        rate: float = 20,
        status: str = Status.DONE,
        verdict: str = "pass",
        p99: float | None = 300.0,
    ) -> Run:
        rest = {
            **launch.rest,
            "seed": seed,
            "arrivals": {"process": "poisson", "rate": rate},
        }
        asked = dataclasses.replace(launch, policy_version=version, rest=rest)
        run = services.start(actor=actor, launch=asked)
        values = {"status": status, "verdict": verdict, "summary": summary(p99)}
        Run.objects.filter(pk=run.pk).update(**values)
        run.refresh_from_db()
        return run

    return make


def test_the_newest_run_of_each_under_one_load_stand_side_by_side(
    policy_version: PolicyVersion, second: PolicyVersion, ended: Callable[..., Run]
) -> None:
    ended(policy_version)
    newer = ended(policy_version, seed=2, p99=None)
    other = ended(second, seed=3, p99=310.0)
    (pair,) = evidence.pairs(policy_version, second)
    assert (pair.before.run, pair.after.run) == (newer.short_id, other.short_id)
    assert (pair.before.seed, pair.after.seed) == (2, 3)
    assert pair.load == "short on sim, poisson 20 req/s, 60 s"
    found = {one.name: one for one in pair.figures}
    assert (found["TTFT P99"].before, found["TTFT P99"].after) == (None, 310.0)
    assert found["TTFT P99"].n_before == 5_000
    assert found["Attainment (offered)"].before == pytest.approx(97.5)
    assert found["Attainment (offered)"].n_after == 4_900
    assert len(found) == 8


@pytest.mark.parametrize(
    "difference",
    [{"rate": 30}, {"status": Status.CANCELLED}, {"status": Status.QUEUED}, {"verdict": "invalid"}],
)
def test_runs_that_are_not_comparable_are_not_laid_side_by_side(
    policy_version: PolicyVersion,
    second: PolicyVersion,
    ended: Callable[..., Run],
    difference: dict[str, Any],
) -> None:
    ended(policy_version)
    ended(second, **difference)
    assert evidence.pairs(policy_version, second) == []


def test_a_version_is_not_compared_with_itself(
    policy_version: PolicyVersion, ended: Callable[..., Run]
) -> None:
    ended(policy_version)
    assert evidence.pairs(policy_version, policy_version) == []


def test_the_diff_page_and_the_api_show_the_pair_and_call_it_no_verdict(
    actor: Actor,
    policy_version: PolicyVersion,
    second: PolicyVersion,
    ended: Callable[..., Run],
    page_as: Callable[[Actor], Client],
    api_as: Callable[..., Callable[..., Any]],
) -> None:
    run = ended(policy_version)
    ended(second, p99=1_310.4)
    line = policy_version.line
    shown = page_as(actor).get(f"{line.get_absolute_url()}diff/1/2/").content.decode()
    assert "Description, no verdict." in shown
    assert run.get_absolute_url() in shown
    assert "1,310" in shown
    (pair,) = api_as(actor)("get", f"/policies/{line.slug}/diff?from=1&to=2").json()["measured"]
    figures = {one["name"]: one for one in pair["figures"]}
    assert figures["TTFT P99"]["after"] == 1_310.4
    assert pair["before"]["page"] == run.get_absolute_url()


def test_a_versions_page_lists_its_runs_and_no_others(
    actor: Actor,
    policy_version: PolicyVersion,
    second: PolicyVersion,
    ended: Callable[..., Run],
    page_as: Callable[[Actor], Client],
) -> None:
    run, other = ended(policy_version), ended(second)
    address = f"{policy_version.line.get_absolute_url()}versions/1/"
    shown = page_as(actor).get(address).content.decode()
    assert run.short_id in shown
    assert other.short_id not in shown


def test_a_version_is_used_by_the_gates_that_would_run_it_now(
    actor: Actor, launch: Launch, second: PolicyVersion
) -> None:
    first = launch.policy_version
    line = first.line
    aliases.move(actor=actor, line=line, name="stable", to=first)
    document = example(actor.team)
    document["spec"]["policy"] = f"{line.slug}@stable"
    save_gate(actor=actor, document=document)
    assert [one.how for one in evidence.uses(first)] == [f"{line.slug}@stable"]
    assert evidence.uses(second) == []
    aliases.move(actor=actor, line=line, name="stable", to=second)
    assert evidence.uses(first) == []
    assert [one.noun for one in evidence.uses(second)] == ["Gate"]


def test_the_launch_form_says_which_version_an_alias_points_at(
    actor: Actor, launch: Launch, second: PolicyVersion, page_as: Callable[[Actor], Client]
) -> None:
    aliases.move(actor=actor, line=second.line, name="stable", to=launch.policy_version)
    form = page_as(actor).get("/runs/new/").context["form"]
    labels = [str(label) for _value, label in form.fields["policy_version"].choices]
    assert labels == ["steady v2", "steady v1 (stable)"]
