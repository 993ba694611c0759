"""Pages of runs: who sees what, what a form starts, and what a late click gets."""

from __future__ import annotations

import html
import json
import re
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from controlplane.catalogue.documents import EndpointDocument
from controlplane.catalogue.models import Endpoint
from controlplane.catalogue.services import endpoints, lines, workloads
from controlplane.runs import services
from controlplane.runs.launch import Launch
from controlplane.runs.models import Run, Status
from controlplane.runs.verdicts import cut
from controlplane.teams.models import Role, Team, User
from controlplane.teams.rights import Actor
from loadtest.arrivals.base import processes
from loadtest.scenario import Scenario
from loadtest.schedule import Schedule
from tests.controlplane.runs.conftest import POLICY, SLO, member
from tests.controlplane.runs.test_frames import play

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def viewer(team: Team) -> Client:
    client = Client()
    client.force_login(member(team, "eve", Role.VIEWER))
    return client


def form(launch: Launch, **more: Any) -> dict[str, Any]:
    return {
        "endpoint": launch.endpoint.pk,
        "policy_version": launch.policy_version.pk,
        "workload": launch.workload.pk,
        "slo_version": launch.slo_version.pk if launch.slo_version else "",
        "process": "poisson",
        "rate": "12.5",
        "concurrency": "",
        "duration_s": "30",
        "warm_up_s": "0",
        "drain_s": "5",
        "seed": "11",
        **more,
    }


def test_the_form_offers_what_the_team_has(page: Client, launch: Launch) -> None:
    answer = page.get("/runs/new/")
    assert answer.status_code == 200
    fields = answer.context["form"].fields
    assert list(fields["endpoint"].queryset) == [launch.endpoint]
    assert answer.context["missing"] == []
    assert fields["rate"].when == "constant gamma poisson"
    assert fields["concurrency"].widget.attrs["data-when"] == "process=closed"


def test_the_form_can_ask_for_the_warm_up_to_be_found(page: Client, launch: Launch) -> None:
    page.post("/runs/new/", form(launch, warm_up="auto"))
    run = Run.objects.get()
    assert run.scenario["warm_up"] == "auto"
    assert b"to be found" in page.get(run.get_absolute_url()).content
    found = {"method": "MSER-5", "because": "cut at 12 s, where TTFT settles"}
    run.summary = {"cut": {"method": "auto", "warm_up_s": 12.0, "detected": found}}
    assert run.warm_up_s == 12
    assert cut(run) == "12 s, MSER-5: cut at 12 s, where TTFT settles"


def test_the_form_says_what_is_missing(page: Client) -> None:
    answer = page.get("/runs/new/")
    assert answer.context["missing"] == ["endpoint", "policy_version", "workload"]


def test_the_form_opens_with_the_newest_slo_and_the_endpoint_run_last(
    page: Client, actor: Actor, launch: Launch, stranger: Actor
) -> None:
    def chosen() -> dict[str, list[str]]:
        shown = page.get("/runs/new/").content.decode()
        selects = re.findall(r'<select name="(\w+)".*?</select>', shown, re.DOTALL)
        texts = re.findall(r"<select .*?</select>", shown, re.DOTALL)
        return {
            name: re.findall(r'value="([^"]*)" selected', text)
            for name, text in zip(selects, texts, strict=True)
        }

    later = EndpointDocument("zeta", "http://127.0.0.1:9998", "m")
    endpoint = endpoints.create_endpoint(actor=actor, document=later)
    other = lines.save_slo(actor=actor, document={**SLO, "metadata": {"name": "another"}}).version
    lines.save_slo(actor=stranger, document=SLO)
    assert chosen()["endpoint"] == [str(launch.endpoint.pk)]
    assert chosen()["slo_version"] == [str(other.pk)]
    services.start(actor=actor, launch=replace(launch, endpoint=endpoint))
    assert chosen()["endpoint"] == [str(endpoint.pk)]
    without = page.get("/runs/new/", {"slo_version": ""}).context["form"]
    assert without["slo_version"].value() == ""
    assert without.fields["slo_version"].empty_label == "No objectives"


def test_the_form_opens_with_a_load_that_can_be_drawn(
    page: Client, actor: Actor, launch: Launch
) -> None:
    workloads.create_workload(actor=actor, name="aaa", document={"kind": "agents"})
    assert page.get("/runs/new/").context["form"]["workload"].value() == launch.workload.pk


def test_a_link_may_choose_beforehand(page: Client, launch: Launch) -> None:
    answer = page.get("/runs/new/", {"endpoint": launch.endpoint.pk, "duration_s": 90, "evil": 1})
    assert answer.context["form"].initial == {
        "endpoint": str(launch.endpoint.pk),
        "duration_s": "90",
    }


ARRIVALS = {
    "poisson": {"process": "poisson", "rate": 5.0},
    "constant": {"process": "constant", "rate": 0.25},
    "closed": {"process": "closed", "concurrency": 3, "think_s": 1.5, "failure_pause_s": 0.7},
    "gamma": {"process": "gamma", "rate": 5.0, "burstiness": 0.25},
    "ramp": {"process": "ramp", "from_rate": 1.0, "to_rate": 9.0, "ramp_s": 60.0},
    "steps": {"process": "steps", "from_rate": 1.0, "to_rate": 9.0, "levels": 3, "hold_s": None},
    "spike": {
        "process": "spike",
        "base_rate": 2.0,
        "spike_rate": 20.0,
        "spike_at_s": 30.0,
        "spike_s": 5.0,
    },
    "diurnal": {
        "process": "diurnal",
        "night_rate": 1.0,
        "day_rate": 8.0,
        "cycle_s": 45.0,
        "starts_at": 0.5,
    },
}


def test_every_arrival_process_is_tried_below() -> None:
    assert set(ARRIVALS) == set(processes.all())


@pytest.mark.parametrize("arrivals", ARRIVALS.values(), ids=list(ARRIVALS))
@pytest.mark.parametrize("judged", [True, False])
def test_the_link_that_changes_a_run_opens_the_form_that_made_it(
    page: Client, actor: Actor, launch: Launch, arrivals: dict[str, Any], judged: bool
) -> None:
    rest = {"arrivals": arrivals, "duration_s": 90, "warm_up_s": 4, "drain_s": 7, "seed": 41}
    rest |= {"timeouts": {"first_token_s": 12.5, "total_s": 90.0}, "prompt_salt": " same words"}
    rest |= {"retries": {"max": 2, "base_ms": 50.0, "cap_ms": 900.0}, "transport": "protocol"}
    rest |= {"cancellations": {"share": 0.25, "after_s": 3.0}}
    slo = launch.slo_version if judged else None
    tight = {**POLICY, "metadata": {"name": "tight"}}
    tight["spec"] = {"concurrency": {"law": "fixed", "limit": 3}}
    shadow = lines.save_policy(actor=actor, document=tight).version
    asked = replace(launch, slo_version=slo, rest=rest, shadow_version=shadow)
    run = services.start(actor=actor, launch=asked)
    services.cancel(actor=actor, run=run)
    shown = page.get(f"/runs/{run.pk}/").content.decode()
    (link,) = re.findall(r'href="(/runs/new/[^"]*)">Change it', shown)
    bound = page.get(html.unescape(link)).context["form"]
    values = {field.name: "" if field.value() is None else str(field.value()) for field in bound}
    assert page.post("/runs/new/", values).status_code == 302
    again = Run.objects.exclude(pk=run.pk).get()
    assert again.scenario == run.scenario
    assert again.scenario["arrivals"] == arrivals
    assert again.slo_version == slo
    assert again.shadow_version == shadow


def test_a_good_form_starts_the_run_and_leads_to_it(page: Client, launch: Launch) -> None:
    answer = page.post("/runs/new/", form(launch))
    run = Run.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/runs/{run.pk}/")
    assert run.scenario["arrivals"] == {"process": "poisson", "rate": 12.5}
    assert (run.seed, run.duration_s, run.slo_version) == (11, 30, launch.slo_version)


def test_a_closed_loop_and_no_objectives_can_be_chosen(page: Client, launch: Launch) -> None:
    page.post(
        "/runs/new/", form(launch, process="closed", concurrency="3", slo_version="", seed="")
    )
    run = Run.objects.get()
    assert run.scenario["arrivals"]["process"] == "closed"
    assert run.scenario["arrivals"]["concurrency"] == 3
    assert run.scenario["slo"] is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"rate": "-1"}, "rate"),
        ({"rate": "fast"}, "rate"),
        ({"rate": ""}, "rate"),
        ({"duration_s": ""}, "duration_s"),
        ({"warm_up_s": "30"}, "warm_up_s"),
        ({"endpoint": "018f0000-0000-7000-8000-000000000000"}, "endpoint"),
        ({"process": "nonsense"}, "process"),
    ],
)
def test_a_bad_form_names_the_field(
    page: Client, launch: Launch, change: dict[str, str], field: str
) -> None:
    answer = page.post("/runs/new/", form(launch, **change))
    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert not Run.objects.exists()


@pytest.mark.parametrize("path", ["/runs/new/", "/runs/preview/"])
@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (
            {"rate": "0", "duration_s": "99999999", "warm_up_s": "-1", "seed": "1.5"},
            {"rate", "duration_s", "warm_up_s", "seed"},
        ),
        ({"endpoint": "nonsense", "rate": "0"}, {"endpoint", "rate"}),
        ({"workload": "", "duration_s": ""}, {"workload", "duration_s"}),
        ({"policy_version": "nonsense", "drain_s": "-1"}, {"policy_version", "drain_s"}),
        ({"process": "nonsense", "seed": "-1"}, {"process", "seed"}),
        ({"rate": "fast", "warm_up_s": "30"}, {"rate"}),
        ({"seed": "x", "warm_up_s": "30"}, {"seed", "warm_up_s"}),
    ],
)
def test_a_bad_form_names_every_fault_once(
    page: Client, launch: Launch, path: str, change: dict[str, str], fields: set[str]
) -> None:
    answer = page.post(path, form(launch, **change))
    assert answer.status_code == 422
    errors = answer.context["form"].errors if answer.context else answer.json()["errors"]
    assert set(errors) == fields
    assert {len(told) for told in errors.values()} == {1}
    assert not Run.objects.exists()


def test_a_cap_of_the_endpoint_is_told_at_its_field(page: Client, launch: Launch) -> None:
    launch.endpoint.max_rate = 5
    launch.endpoint.save()
    answer = page.post("/runs/new/", form(launch))
    assert "at most 5 requests per second" in answer.context["form"].errors["rate"][0]


def test_half_of_what_clients_do_is_told_at_the_field_that_is_missing(
    page: Client, launch: Launch
) -> None:
    answer = page.post("/runs/new/", form(launch, cancellations_share="0.5", retries_cap_ms="9"))
    assert {"cancellations_after_s", "retries_max"} <= set(answer.context["form"].errors)


def test_a_learning_law_and_several_workers_are_refused_at_the_field(
    page: Client, launch: Launch, actor: Actor
) -> None:
    learning = {
        **POLICY,
        "metadata": {"name": "learning"},
        "spec": {"concurrency": {"law": "aimd"}},
    }
    version = lines.save_policy(actor=actor, document=learning).version
    chosen = form(launch, policy_version=version.pk)
    why = "the concurrency law aimd, which has to see every answer"
    alone = page.post("/runs/preview/", chosen).json()["alone"]
    assert alone.startswith(f"Takes one worker on one machine, because of {why}.")
    assert page.post("/runs/preview/", form(launch)).json()["alone"] == ""
    answer = page.post("/runs/new/", chosen | {"workers": "2"})
    (told,) = answer.context["form"].errors["workers"]
    remedy = "set it to 1, or choose a policy with a fixed limit, which is shared, or none"
    assert told == f"Must be 1 with {why}; {remedy}"
    assert page.post("/runs/new/", form(launch, workers="2")).status_code == 302
    assert Run.objects.get().workers == 2


def test_several_machines_are_asked_for_in_the_form(page: Client, launch: Launch) -> None:
    refused = page.post("/runs/new/", form(launch, machines="99"))
    assert "from 1 to 16" in refused.context["form"].errors["machines"][0]
    assert page.post("/runs/new/", form(launch, machines="2")).status_code == 302
    run = Run.objects.get()
    assert run.machines == 2
    assert "machines=2" in page.get(run.get_absolute_url()).context["choices"]


@pytest.mark.parametrize(
    ("cap", "change", "field"),
    [
        ({"max_rate": 5}, {}, "rate"),
        ({"max_rate": 5}, {"process": "ramp", "from_rate": "1", "to_rate": "6"}, "to_rate"),
        (
            {"max_rate": 5},
            {"process": "spike", "base_rate": "1", "spike_rate": "6", "spike_s": "1"},
            "spike_rate",
        ),
        ({"max_duration_s": 5}, {}, "duration_s"),
        ({"max_concurrency": 2}, {"process": "closed", "concurrency": "3"}, "concurrency"),
        ({"max_concurrency": 2}, {}, "policy_version"),
    ],
)
def test_a_message_keeps_a_name_as_it_is_written(
    page: Client, launch: Launch, cap: dict[str, int], change: dict[str, str], field: str
) -> None:
    Endpoint.objects.filter(pk=launch.endpoint.pk).update(name="deadend", **cap)
    (told,) = page.post("/runs/new/", form(launch, **change)).context["form"].errors[field]
    assert told.startswith("The endpoint deadend allows ")


def test_a_viewer_sees_runs_and_starts_none(viewer: Client, run: Run) -> None:
    assert viewer.get("/runs/").status_code == 200
    assert viewer.get(f"/runs/{run.pk}/").status_code == 200
    assert viewer.get("/runs/new/").status_code == 403
    assert viewer.post(f"/runs/{run.pk}/cancel/").status_code == 403
    run.refresh_from_db()
    assert run.status == Status.QUEUED


def test_the_arrivals_are_explained_beside_their_field(page: Client) -> None:
    opened = page.get("/runs/new/").context["form"]
    assert ("poisson", "Poisson") in opened.fields["process"].choices
    assert opened["process"].help_text == processes.get("poisson").summary
    chosen = page.get("/runs/new/?process=closed").context["form"]
    assert chosen["process"].help_text == processes.get("closed").summary


def test_the_preview_is_what_would_be_sent(page: Client, launch: Launch) -> None:
    answer = page.post("/runs/preview/", form(launch, process="constant", rate="10"))
    seen = answer.json()
    assert (answer.status_code, seen["requests"], seen["duration_s"]) == (200, 300, 30)
    assert (seen["prompt_tokens"], seen["output_tokens"]) == (300 * 16, 300 * 8)
    assert not Run.objects.exists()


def test_the_preview_of_a_form_as_it_opens_is_the_load_that_runs(
    page: Client, launch: Launch
) -> None:
    bound = page.get("/runs/new/").context["form"]
    drawn = bound["seed"].value()
    assert page.get("/runs/new/").context["form"]["seed"].value() != drawn
    values = form(launch, seed=str(drawn), duration_s="60", rate="20")
    previews = [page.post("/runs/preview/", values).json() for _ in range(2)]
    page.post("/runs/new/", values)
    run = Run.objects.get()
    scenario = Scenario.parse(run.scenario)
    schedule = Schedule(
        scenario.arrivals, scenario.workload, duration=scenario.duration_s, seed=run.seed
    )
    assert previews[0] == previews[1]
    assert (run.seed, previews[0]["requests"]) == (drawn, schedule.offered)


def test_the_preview_of_a_bad_form_names_its_fields(page: Client, launch: Launch) -> None:
    answer = page.post("/runs/preview/", form(launch, rate="0"))
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == ["rate"]


@pytest.mark.parametrize("path", ["", "frames/", "summary.json", "samples/", "windows.csv"])
def test_another_teams_run_is_not_there(
    path: str, run: Run, stranger: Actor, page_as: Callable[[Actor], Client]
) -> None:
    assert page_as(stranger).get(f"/runs/{run.pk}/{path}").status_code == 404


def test_another_teams_run_can_not_be_cancelled(
    run: Run, stranger: Actor, page_as: Callable[[Actor], Client]
) -> None:
    assert page_as(stranger).post(f"/runs/{run.pk}/cancel/").status_code == 404
    run.refresh_from_db()
    assert run.status == Status.QUEUED


@pytest.mark.parametrize("path", ["", "new/", "preview/"])
def test_a_stranger_is_sent_to_sign_in(db: None, path: str) -> None:
    assert Client().get(f"/runs/{path}")["Location"].startswith("/sign-in/")


def test_a_page_has_its_figures_and_its_first_frame(
    page: Client, claimed: Run, tmp_path: Path
) -> None:
    play(claimed, tmp_path)
    answer = page.get(f"/runs/{claimed.pk}/")
    frame = answer.context["frame"]
    assert answer.status_code == 200
    assert (frame["full"], frame["seq"]) == (True, answer.context["run"].seq)
    assert len(answer.context["figures"]["figures"]) == 9
    assert b"Passed" in answer.content


@pytest.mark.parametrize("status", list(Status))
def test_a_page_can_be_shown_in_every_state(page: Client, run: Run, status: Status) -> None:
    Run.objects.filter(pk=run.pk).update(status=status)
    assert page.get(f"/runs/{run.pk}/").status_code == 200
    assert page.get("/runs/", {"status": status}).context["rows"][0]["run"] == run
    assert page.get("/").status_code == 200


def test_frames_are_filled_over_http(page: Client, claimed: Run, tmp_path: Path) -> None:
    told = play(claimed, tmp_path)
    answer = page.get(f"/runs/{claimed.pk}/frames/", {"since": told[-2]["seq"]})
    assert answer["Cache-Control"] == "no-store"
    assert answer.json() == told[-1]
    everything = page.get(f"/runs/{claimed.pk}/frames/", {"since": "nonsense"}).json()
    assert everything["full"]
    refused = page.get(f"/runs/{claimed.pk}/frames/", {"since": "9" * 5000})
    assert (refused.status_code, "at most 9 digits" in refused.json()["error"]) == (400, True)


def test_a_cancel_by_htmx_gets_the_bar_and_a_late_one_409(page: Client, run: Run) -> None:
    answer = page.post(f"/runs/{run.pk}/cancel/", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.context["run"].status) == (200, Status.CANCELLED)
    late = page.post(f"/runs/{run.pk}/cancel/", headers={"HX-Request": "true"})
    assert late.status_code == 409
    assert b"Cancelled" in late.content
    assert page.post(f"/runs/{run.pk}/cancel/").status_code == 409


def test_a_cancel_without_scripts_leads_back_to_the_run(page: Client, claimed: Run) -> None:
    answer = page.post(f"/runs/{claimed.pk}/cancel/")
    assert (answer.status_code, answer["Location"]) == (302, f"/runs/{claimed.pk}/")


def test_a_get_cancels_nothing(page: Client, run: Run) -> None:
    assert page.get(f"/runs/{run.pk}/cancel/").status_code == 405


def test_a_run_is_run_again_as_a_new_one(page: Client, actor: Actor, run: Run) -> None:
    assert page.post(f"/runs/{run.pk}/retry/").status_code == 409
    services.cancel(actor=actor, run=run)
    answer = page.post(f"/runs/{run.pk}/retry/")
    again = Run.objects.exclude(pk=run.pk).get()
    assert answer["Location"] == f"/runs/{again.pk}/"
    assert again.retry_of == run


def test_the_list_takes_few_queries(
    page: Client, actor: Actor, launch: Launch, django_assert_max_num_queries: Any
) -> None:
    for _ in range(12):
        services.start(actor=actor, launch=launch)
    with django_assert_max_num_queries(8):
        assert len(page.get("/runs/").context["rows"]) == 12


def test_an_unknown_run_is_not_there(page: Client) -> None:
    assert page.get(f"/runs/{uuid.uuid4()}/").status_code == 404


def test_the_first_page_has_first_steps_until_there_is_a_run(page: Client, launch: Launch) -> None:
    answer = page.get("/")
    assert answer.context["empty"]
    steps = {step["id"]: step["done"] for step in answer.context["steps"]}
    assert steps == {"endpoint": True, "policy": True, "workload": True, "slo": True, "run": False}


def test_the_first_page_shows_endpoints_with_their_last_verdict(
    page: Client, claimed: Run, tmp_path: Path
) -> None:
    (before,) = page.get("/").context["endpoints"]
    assert before["last"] is None
    play(claimed, tmp_path)
    answer = page.get("/")
    (row,) = answer.context["endpoints"]
    assert (row["endpoint"], row["last"]["run"]) == (claimed.endpoint, claimed)
    assert row["last"]["verdict"]["word"] == "Passed"
    assert [one["run"] for one in answer.context["recent"]] == [claimed]
    assert answer.context["now"] == []


def test_the_fleet_shows_the_last_run_that_has_a_verdict(
    page: Client, actor: Actor, launch: Launch, claimed: Run, tmp_path: Path
) -> None:
    play(claimed, tmp_path)
    unjudged = services.start(actor=actor, launch=replace(launch, slo_version=None))
    Run.objects.filter(pk=unjudged.pk).update(status=Status.DONE, verdict="pass")
    stopped = services.start(actor=actor, launch=launch)
    Run.objects.filter(pk=stopped.pk).update(status=Status.CANCELLED, verdict="inconclusive")
    answer = page.get("/")
    (row,) = answer.context["endpoints"]
    assert (row["last"]["run"], row["last"]["verdict"]["word"]) == (claimed, "Passed")
    recent = [one["verdict"]["outcome"] for one in answer.context["recent"]]
    assert recent == ["none", "none", "pass"]
    listed = page.get("/runs/").context["rows"]
    assert [one["verdict"]["outcome"] for one in listed] == recent


def test_the_page_is_json_that_a_browser_can_read(
    page: Client, claimed: Run, tmp_path: Path
) -> None:
    play(claimed, tmp_path)
    text = page.get(f"/runs/{claimed.pk}/").content.decode()
    first = text.partition('id="first-frame" type="application/json">')[2].partition("</script>")[0]
    assert json.loads(first)["type"] == "frame"
