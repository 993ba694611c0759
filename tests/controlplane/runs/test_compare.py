"""The page of two runs side by side: a description, never a verdict, never of two stimuli."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from controlplane.runs.launch import Launch
from controlplane.runs.models import Run
from controlplane.runs.storage import directory
from controlplane.teams.models import User
from controlplane.teams.rights import Actor
from tests.controlplane.runs.finished import finish
from tests.headway.test_compare import run_of

URL = "/runs/compare/"


@pytest.fixture
def page(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def pair(actor: Actor, launch: Launch, tmp_path: Path) -> tuple[Run, Run]:
    load = {"rate": 8.0, "seconds": 20}
    return (
        finish(actor, launch, tmp_path, **load),
        finish(actor, launch, tmp_path, **load, scale=2.0),
    )


def test_two_runs_are_drawn_in_one_chart_each_with_their_differences(
    page: Client, pair: tuple[Run, Run]
) -> None:
    a, b = pair
    answer = page.get(URL, {"a": a.pk, "b": b.pk})
    assert answer.status_code == 200
    rows = {row["name"]: row for row in answer.context["found"]["whole"]}
    assert float(rows["TTFT P50"]["relative"].removesuffix(" %")) > 50
    figures = {figure["id"]: figure for figure in answer.context["figures"]["figures"]}
    assert set(figures) >= {"ttft", "tpot", "e2e", "in_flight", "attainment"}
    ttft = figures["ttft"]
    assert [line["dash"] for line in ttft["series"]] == ["none", "p95"]
    drawn = [row for row in ttft["rows"] if row[3] is not None and row[4] is not None]
    assert len(drawn) == 20
    assert all(b > a for _, _, _, a, b in drawn)
    assert {group["name"] for group in answer.context["found"]["tenants"]} == {"acme", "globex"}


def test_it_says_what_cannot_be_concluded_and_gives_no_verdict(
    page: Client, pair: tuple[Run, Run]
) -> None:
    html = page.get(URL, {"a": pair[0].pk, "b": pair[1].pk}).content.decode()
    assert "Description, no verdict" in html
    assert "No verdict can be drawn" in html
    assert f"/comparisons/new/?baseline={pair[0].policy_version_id}" in html


def test_it_says_which_of_them_shared_its_endpoint_with_another_run(
    page: Client, pair: tuple[Run, Run], actor: Actor, launch: Launch, tmp_path: Path
) -> None:
    a, b = pair
    other = finish(actor, launch, tmp_path, rate=5.0, seconds=10)
    begin = timezone.now()
    for run, at in ((a, 0), (b, 100), (other, 10)):
        started = begin + timedelta(seconds=at)
        ended = started + timedelta(seconds=20)
        Run.objects.filter(pk=run.pk).update(started_at=started, ended_at=ended)
    cannot = page.get(URL, {"a": a.pk, "b": b.pk}).context["found"]["cannot"]
    shared = [told for told in cannot if "shared its endpoint" in told]
    assert len(shared) == 1
    assert shared[0].startswith("A shared")
    assert other.short_id in shared[0]


def test_with_one_run_it_offers_those_that_were_asked_the_same(
    page: Client, pair: tuple[Run, Run], actor: Actor, launch: Launch, tmp_path: Path
) -> None:
    other = finish(actor, launch, tmp_path, rate=5.0, seconds=10)
    answer = page.get(URL, {"a": pair[0].pk})
    assert answer.context["choices"] == [pair[1]]
    lonely = page.get(URL, {"a": other.pk})
    assert b"No other finished run was asked the same" in lonely.content
    assert set(page.get(URL).context["choices"]) == {*pair, other}


def test_unequal_stimulus_is_refused_with_what_differs(
    page: Client, pair: tuple[Run, Run], actor: Actor, launch: Launch, tmp_path: Path
) -> None:
    other = finish(actor, launch, tmp_path, rate=5.0, seconds=20)
    answer = page.get(URL, {"a": pair[0].pk, "b": other.pk})
    assert answer.status_code == 422
    remedy = "the stimulus is not equal; run it again with A's, or choose another run"
    assert answer.context["problems"] == [f"Arrivals, rate (5): differs from A's 8: {remedy}"]
    assert "found" not in answer.context


def test_a_run_that_has_not_ended_is_refused(page: Client, pair: tuple[Run, Run]) -> None:
    Run.objects.filter(pk=pair[1].pk).update(summary=None, status="running")
    answer = page.get(URL, {"a": pair[0].pk, "b": pair[1].pk})
    assert answer.status_code == 422
    assert answer.context["problems"] == [
        (
            "B (running): was not finished, so it was not asked all that its scenario says; "
            "choose one that was"
        )
    ]


def test_another_teams_run_and_what_is_no_id_do_not_exist(
    page: Client, pair: tuple[Run, Run], stranger: Actor, page_as: Callable[[Actor], Client]
) -> None:
    ids = {"a": str(pair[0].pk), "b": str(pair[1].pk)}
    assert page_as(stranger).get(URL, ids).status_code == 404
    assert page_as(stranger).get(URL, {"a": ids["a"]}).status_code == 404
    assert page.get(URL, {"a": "x"}).status_code == 404


def test_other_objectives_take_the_limits_out_of_the_figures(
    page: Client, pair: tuple[Run, Run], actor: Actor, launch: Launch, tmp_path: Path
) -> None:
    bare = dataclasses.replace(launch, slo_version=None)
    other = finish(actor, bare, tmp_path, rate=8.0, seconds=20)
    answer = page.get(URL, {"a": pair[0].pk, "b": other.pk})
    assert any("SLOs differ" in one for one in answer.context["found"]["cannot"])
    assert all(not figure["marks"] for figure in answer.context["figures"]["figures"])


def _empty(place: Path) -> None:
    """Another schedule's files are to stand there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(place, ignore_errors=True)


def test_runs_of_one_seed_are_paired_request_by_request(
    page: Client, pair: tuple[Run, Run]
) -> None:
    for run, slow in zip(pair, (0.05, 0.25), strict=True):
        _empty(directory(run))
        run_of(directory(run), limit=8, slow=slow)
    html = page.get(URL, {"a": pair[0].pk, "b": pair[1].pk}).content.decode()
    assert "100 pairs of requests: 0 were bad in A alone, 100 in B alone, 0 in both." in html
    _empty(directory(pair[1]))
    run_of(directory(pair[1]), limit=8, slow=0.25, last=90)
    shorter = page.get(URL, {"a": pair[0].pk, "b": pair[1].pk}).content.decode()
    assert "can&#x27;t be paired" in shorter or "can't be paired" in shorter


def test_runs_of_two_seeds_stand_side_by_side_and_say_why_they_are_not_paired(
    page: Client, pair: tuple[Run, Run]
) -> None:
    Run.objects.filter(pk=pair[1].pk).update(seed=pair[1].seed + 1)
    answer = page.get(URL, {"a": pair[0].pk, "b": pair[1].pk})
    assert answer.status_code == 200
    assert b"Their seeds differ" in answer.content


def test_the_second_address_leads_here_for_good(page: Client, pair: tuple[Run, Run]) -> None:
    query = {"a": str(pair[0].pk), "b": str(pair[1].pk)}
    answer = page.get("/comparisons/runs/", query)
    assert (answer.status_code, answer["Location"]) == (
        301, f"{URL}?a={query['a']}&b={query['b']}",
    )  # fmt: skip
