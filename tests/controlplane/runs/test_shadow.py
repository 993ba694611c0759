"""A run's shadow in the control plane: asked for, stored, told, taken home, and run again."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db.models import ProtectedError
from django.test import Client

from controlplane.catalogue.models import PolicyVersion
from controlplane.catalogue.services import lines
from controlplane.runs import frames, services, stored
from controlplane.runs.forms import LaunchForm
from controlplane.runs.launch import Launch
from controlplane.runs.ledger import Ledger
from controlplane.runs.models import Run, RunDecision, Status
from controlplane.teams.rights import Actor
from documents.problem import DocumentError
from loadtest.shadow_rules import CANNOT_KNOW
from schedulers.runtime.shadow import Divergence, ShadowReport
from tests.controlplane.runs.conftest import POLICY, documents, folded
from tests.controlplane.runs.test_api import BODY
from tests.controlplane.runs.test_frames import SUMMARY, Page, wire

pytestmark = pytest.mark.django_db

REPORT = ShadowReport(4, 1, Divergence(1.5, 8, 2), would_have_held=30, granted=40).to_json()


@pytest.fixture
def tight(actor: Actor) -> PolicyVersion:
    document = {
        **POLICY,
        "metadata": {"name": "tight", "owner": "platform"},
        "spec": {"concurrency": {"law": "fixed", "limit": 2}},
    }
    return lines.save_policy(actor=actor, document=document).version


@pytest.fixture
def shadowed(actor: Actor, launch: Launch, tight: PolicyVersion) -> Run:
    run = services.start(actor=actor, launch=replace(launch, shadow_version=tight))
    taken = services.claim(run.pk)
    assert taken is not None
    return taken


@pytest.fixture
def page(actor: Actor) -> Client:
    client = Client()
    client.force_login(actor.user)
    return client


def decision(at: float, after: int) -> dict[str, Any]:
    return {"at": at, "law": "fixed", "before": 8, "after": after, "reason": "grown", "inputs": {}}


def play(run: Run, out: Path, *, seconds: int = 4) -> list[frames.Frame]:
    """Each second a decision of each; the shadow's half a second before."""
    told: list[frames.Frame] = []
    ledger = Ledger(run, out, publish=lambda _run, frame: told.append(wire(frame)))
    for second, windows in enumerate(folded(seconds)):
        ledger.hear_windows({"windows": documents(windows)})
        ledger.hear_decisions({"decisions": [decision(second + 1.0, 9)]})
        ledger.hear_shadow({"decisions": [decision(second + 0.5, 3)], "report": REPORT})
        ledger.store()
    ledger.finish(Status.DONE, summary={**SUMMARY, "shadow": {"report": REPORT}})
    return told


def test_a_run_freezes_its_shadow_and_the_version_stays(shadowed: Run) -> None:
    assert shadowed.scenario["shadow"] == shadowed.shadow_version.document
    with pytest.raises(ProtectedError):
        shadowed.shadow_version.line.delete()


def test_frames_and_backfill_tell_one_story_of_the_shadow(shadowed: Run, tmp_path: Path) -> None:
    told = play(shadowed, tmp_path)
    heard = [line for frame in told for line in frame["shadow"]["decisions"]]
    whole = wire(stored.backfill(Run.objects.get(pk=shadowed.pk), since=0))
    assert whole["shadow"]["decisions"] == heard
    assert [line["n"] for line in heard] == list(range(5))
    assert {line["after"] for line in whole["decisions"]} == {9}
    assert {key: told[-1]["shadow"][key] for key in ("report", "said")} == {
        key: whole["shadow"][key] for key in ("report", "said")
    }
    assert whole["shadow"]["report"] == REPORT
    assert whole["shadow"]["said"][0].endswith("first diverged at 1.5 s, active 8, shadow 2.")
    assert whole["shadow"]["cannot_know"] == CANNOT_KNOW
    late = stored.backfill(shadowed, since=told[-3]["seq"])
    assert [line["n"] for line in late["shadow"]["decisions"]] == [4]


def test_before_anything_ended_nothing_is_claimed(shadowed: Run) -> None:
    said = stored.backfill(shadowed, since=0)["shadow"]
    assert (said["report"], said["decisions"]) == (None, [])
    assert said["said"][0].startswith("Nothing to compare yet")


def test_a_run_lost_before_a_word_says_that_nothing_was_stored(shadowed: Run) -> None:
    shadowed.status = Status.LOST
    assert (
        "before anything of its shadow" in stored.backfill(shadowed, since=0)["shadow"]["said"][0]
    )


def test_the_limits_figure_has_the_shadows_line_only_beside_a_shadow(
    shadowed: Run, launch: Launch, actor: Actor
) -> None:
    plain = services.start(actor=actor, launch=launch)
    (with_one, without) = (
        next(spec for spec in frames.figures(run)["figures"] if spec["id"] == "limit")
        for run in (shadowed, plain)
    )
    assert [one["key"] for one in without["series"]] == ["in_flight", "limit"]
    assert without["divergence"] is None
    assert [one["key"] for one in with_one["series"]] == ["in_flight", "limit", "shadow_limit"]
    assert with_one["divergence"] == {
        "active": "limit",
        "shadow": "shadow_limit",
        "color": "s4",
        "within": 0.1,
    }
    assert stored.backfill(plain, since=0)["shadow"] is None


def test_the_trace_to_take_home_says_whose_each_line_is_in_order_of_time(
    shadowed: Run, page: Client, tmp_path: Path
) -> None:
    play(shadowed, tmp_path)
    answer = page.get(f"/runs/{shadowed.pk}/trace.csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert [row["policy"] for row in rows] == ["shadow", "active"] * 5
    assert [float(row["at"]) for row in rows] == sorted(float(row["at"]) for row in rows)
    assert RunDecision.objects.filter(run=shadowed, shadow=True).count() == 5


def test_the_page_says_what_came_of_it_and_what_it_cannot_know(
    shadowed: Run, page: Client, tmp_path: Path
) -> None:
    play(shadowed, tmp_path)
    shown = page.get(f"/runs/{shadowed.pk}/").content.decode()
    assert "Shadow: tight v1" in shown
    assert "It would have held back 30 of 40 requests" in shown
    assert "forecasts nothing" in shown


def test_a_shadow_over_the_api_is_asked_for_told_and_refused_where_it_is_the_active_one(
    actor: Actor, launch: Launch, tight: PolicyVersion, api_as: Callable[..., Any]
) -> None:
    call = api_as(actor)
    said = call("post", "/runs", BODY | {"shadow": "tight@1"}, Idempotency_Key="a").json()
    assert said["shadow"] == {"slug": "tight", "version": 1, "sha256": tight.sha256}
    refused = call("post", "/runs", BODY | {"shadow": "steady"}, Idempotency_Key="b")
    assert refused.status_code == 422
    (fault,) = refused.json()["errors"]
    assert fault["pointer"] == "#/shadow"
    assert "is the active policy itself" in fault["detail"]
    unknown = call("post", "/runs", BODY | {"policy": "x", "shadow": "tight"}, Idempotency_Key="c")
    assert [fault["pointer"] for fault in unknown.json()["errors"]] == ["#/policy"]
    assert call("post", "/runs", BODY, Idempotency_Key="d").json()["shadow"] is None


def test_the_form_offers_versions_with_a_concurrency_law_and_tells_beside_the_field(
    launch: Launch, tight: PolicyVersion, page: Client
) -> None:
    PolicyVersion.objects.create(
        line=tight.line,
        number=2,
        document={"spec": {}},
        sha256="0" * 64,
        created_by=tight.created_by,
    )
    offered = LaunchForm(team=launch.endpoint.team).fields["shadow_version"].queryset
    assert set(offered) == {tight, launch.policy_version}
    asked = {
        "endpoint": launch.endpoint.pk,
        "policy_version": tight.pk,
        "shadow_version": tight.pk,
        "workload": launch.workload.pk,
        "process": "poisson",
        "rate": "5",
        "duration_s": "10",
    }
    answer = page.post("/runs/preview/", asked)
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == ["shadow_version"]


def test_running_again_runs_the_stored_scenario_whatever_became_of_the_catalogue(
    shadowed: Run, actor: Actor
) -> None:
    shadowed.status = Status.DONE
    shadowed.workload.document = {"kind": "fixed", "prompt_tokens": 999}
    shadowed.workload.save()
    again = services.retry(actor=actor, run=shadowed)
    assert again.scenario == shadowed.scenario
    assert again.scenario_sha256 == shadowed.scenario_sha256
    assert again.shadow_version == shadowed.shadow_version


def test_running_again_never_takes_the_key_to_an_address_that_the_endpoint_has_left(
    shadowed: Run, actor: Actor
) -> None:
    shadowed.status = Status.DONE
    shadowed.endpoint.base_url = "http://127.0.0.1:9998"
    with pytest.raises(DocumentError, match="has moved to"):
        services.retry(actor=actor, run=shadowed)
    shadowed.endpoint.base_url = shadowed.scenario["endpoint"]["base_url"]
    shadowed.endpoint.max_duration_s = 5
    with pytest.raises(DocumentError, match="at most 5 s"):
        services.retry(actor=actor, run=shadowed)


def test_a_second_run_on_an_endpoint_is_warned_of_and_named_on_both_pages(
    shadowed: Run, actor: Actor, launch: Launch, page: Client
) -> None:
    asked = {"endpoint": launch.endpoint.pk}
    busy = page.post("/runs/preview/", asked).json()["busy"]
    assert busy.startswith(f"Another run is live on this endpoint (steady v1 {shadowed.short_id})")
    other = services.start(actor=actor, launch=launch)
    assert shadowed.short_id in page.get(f"/runs/{other.pk}/").content.decode()
    assert 'id="mixed" hidden' in page.get(f"/runs/{shadowed.pk}/").content.decode()
    assert stored.backfill(shadowed, since=0)["mixed"] == []
    assert services.claim(other.pk)
    told = stored.backfill(shadowed, since=0)["mixed"]
    assert [one["url"] for one in told] == [other.get_absolute_url()]
    shown = page.get(f"/runs/{shadowed.pk}/").content.decode()
    assert 'id="mixed">' in shown
    assert "Another run on this endpoint at the same time." in shown
    assert str(other.pk) in shown


def test_a_run_that_began_after_another_ended_is_not_mixed_with_it(
    shadowed: Run, actor: Actor, launch: Launch, page: Client, tmp_path: Path
) -> None:
    play(shadowed, tmp_path)
    other = services.start(actor=actor, launch=launch)
    assert services.claim(other.pk)
    for run in (shadowed, other):
        assert 'id="mixed" hidden' in page.get(f"/runs/{run.pk}/").content.decode()
    assert page.post("/runs/preview/", {"endpoint": launch.endpoint.pk}).json()["busy"] != ""


def test_a_page_that_missed_frames_ends_with_every_line_of_the_shadow(
    shadowed: Run, tmp_path: Path
) -> None:
    told = play(shadowed, tmp_path)
    page = Page(shadowed)
    for frame in (told[0], told[-1]):
        page.hear(frame)
    assert json.dumps(page.latest) == json.dumps(
        {key: wire(stored.backfill(shadowed, since=0))[key] for key in page.latest}
    )
