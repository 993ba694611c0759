"""A run on the engine model: launched, played in a process of its own, and labelled everywhere."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError
from django.test import Client

from controlplane.runs import execution, modelled, services, stored
from controlplane.runs.launch import Launch, parse
from controlplane.runs.models import Run, Status
from controlplane.teams.models import Team, User
from controlplane.teams.rights import Actor
from documents.problem import DocumentError
from tests.controlplane.runs.finished import finish

pytestmark = pytest.mark.django_db

PROFILE = "qwen3-32b-h100-tp2"
LABEL = "stated error ±3.6 % of mean TPOT"
BODY = {
    "model": PROFILE,
    "policy": "steady",
    "workload": "short",
    "slo": "chat",
    "arrivals": {"process": "poisson", "rate": 10},
    "duration_s": 30,
    "drain_s": 5,
    "seed": 3,
}


@pytest.fixture
def call(api_as: Callable[..., Any], actor: Actor, launch: Launch) -> Callable[..., Any]:
    assert launch.endpoint
    return api_as(actor)


@pytest.fixture
def page(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def on_model(launch: Launch) -> Launch:
    rest = {**launch.rest, "arrivals": {"process": "poisson", "rate": 10}, "duration_s": 30}
    return replace(launch, endpoint=None, profile=PROFILE, rest=rest)


def text(answer: Any) -> str:
    return html.unescape(answer.content.decode())


def test_the_api_takes_a_profile_in_the_place_of_an_endpoint(call: Callable[..., Any]) -> None:
    answer = call("post", "/runs", BODY, Idempotency_Key="a")
    assert answer.status_code == 202, answer.json()
    said = answer.json()
    assert (said["host"], said["endpoint"]) == ("model", None)
    assert said["model"]["profile"] == PROFILE
    assert said["model"]["mean_tpot_error_percent"] == 3.6
    assert said["model"]["label"].startswith("A model, not a measurement")
    run = Run.objects.get()
    assert run.scenario["endpoint"]["base_url"] == "http://model.invalid"
    assert run.scenario["endpoint"]["name"] == PROFILE


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"endpoint": "sim"}, "model"),
        ({"model": "/etc/passwd"}, "model"),
        ({"model": "none-like-it"}, "model"),
        ({"shadow": "steady"}, "shadow"),
        ({"workers": 2}, "workers"),
        ({"machines": 2}, "machines"),
        ({"duration_s": 80_000}, "duration_s"),
    ],
)
def test_what_the_model_does_not_do_is_refused_at_its_field(
    team: Team, launch: Launch, change: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(DocumentError) as told:
        parse(team, {**BODY, **change}).scenario()
    assert pointer in {problem.path for problem in told.value.problems}


def test_the_form_starts_it_and_reads_nothing_that_only_an_endpoint_takes(
    page: Client, launch: Launch
) -> None:
    given = {
        "host": "model", "profile": PROFILE, "endpoint": launch.endpoint.pk, "workers": 4,
        "policy_version": launch.policy_version.pk, "workload": launch.workload.pk,
        "slo_version": "", "process": "poisson", "rate": 5, "duration_s": 20, "drain_s": 5,
        "retries_max": 2, "shadow_version": launch.policy_version.pk,
    }  # fmt: skip
    answer = page.post("/runs/new/", given)
    assert answer.status_code == 302, text(answer)
    run = Run.objects.get()
    assert (run.profile, run.endpoint, run.workers) == (PROFILE, None, 1)
    assert run.scenario["retries"]["max"] == 2, "clients of the model come again too"
    again = page.get(f"/runs/new/?{page.get(answer['Location']).context['choices']}")
    assert again.context["form"]["host"].value() == "model"
    assert again.context["form"]["profile"].value() == PROFILE


def test_a_run_has_an_endpoint_or_a_profile_and_never_both(actor: Actor, on_model: Launch) -> None:
    run = services.start(actor=actor, launch=on_model)
    with pytest.raises(IntegrityError):
        Run.objects.filter(pk=run.pk).update(profile="")


def test_it_is_played_to_its_end_and_says_on_every_page_that_it_is_a_models(
    actor: Actor, on_model: Launch, launch: Launch, page: Client, tmp_path: Path, settings: Any
) -> None:
    settings.DATA_DIR = tmp_path
    run = services.claim(services.start(actor=actor, launch=on_model).pk)
    assert run
    execution.execute(run)
    run.refresh_from_db()
    assert (run.status, run.reason) == (Status.DONE, "")
    assert run.elapsed_s == 30, "the model's seconds, not those that it took"
    assert run.summary["model"]["profile"] == PROFILE
    assert run.summary["client"] is None
    offered = sum(row.data["cohort"]["offered"] for row in run.windows.all())
    assert offered == run.summary["offered"] > 200
    assert all(row.data["events"]["kv_use"] is not None for row in run.windows.all())
    frame = stored.backfill(run, since=0)
    assert frame["run"]["host"] == "model"
    assert frame["verdict"]["word"].endswith("in the model")
    shown = text(page.get(run.get_absolute_url()))
    assert "nothing on this page was measured" in shown
    assert shown.count(LABEL) >= 5, "beside each section's numbers"
    assert "no send lag" in shown
    assert LABEL in text(page.get("/runs/"))
    assert LABEL in text(page.get("/"))
    beside = finish(actor, launch, tmp_path, rate=10.0, seconds=30)
    Run.objects.filter(pk=beside.pk).update(scenario=run.scenario | {"endpoint": {"model": "m"}})
    compared = text(page.get(f"/runs/compare/?a={beside.pk}&b={run.pk}"))
    assert "B was not measured" in compared
    assert "no verdict" in compared
    assert LABEL in compared
    assert PROFILE not in text(page.get("/history/"))


def test_a_profile_that_does_not_ship_any_more_leaves_its_runs_readable(
    actor: Actor, on_model: Launch, page: Client
) -> None:
    run = services.start(actor=actor, launch=on_model)
    Run.objects.filter(pk=run.pk).update(profile="gone-by-now")
    run.refresh_from_db()
    assert modelled.words(run)["error"] == "never checked against an engine"
    assert page.get(run.get_absolute_url()).status_code == 200
