"""The capacity page: instances and a knee from finished runs, and how far off each method is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.capacity import measured, model_curve
from controlplane.catalogue.documents import EndpointDocument
from controlplane.catalogue.examples import POLICY
from controlplane.catalogue.services import endpoints, lines, workloads
from controlplane.runs.models import Run, Status
from controlplane.teams.rights import Actor

URL = "/capacity/"
CAPACITY = 40.0


def summary(rate: float) -> dict[str, Any]:
    """What a run says of an engine that follows up to 40 requests/s and queues from there."""
    served = min(rate, CAPACITY)
    step = 0.02 / (1 - 0.6 * served / CAPACITY)
    late = max(0.0, rate - 0.9 * CAPACITY)
    e2e = 50 * step + late
    return {
        "offered_rate": rate,
        "served_rate": served,
        "attainment": 1.0 if rate < CAPACITY else 0.5,
        "goodput_rps": served,
        "ttft_ms": {"p95": 100 + 1e3 * late, "n": 900},
        "little": {"in_flight": served * e2e},
        "moments": {
            "n": 900,
            "prompt": 100.0,
            "prompt_square": 12_000.0,
            "output": 50.0,
            "output_square": 3_000.0,
            "product": 5_000.0,
            "e2e_s": e2e,
            "e2e_square": 2 * e2e**2,
            "ttft_s": 0.05 + late,
            "step_s": step,
        },
    }


@pytest.fixture
def made(operator: Actor) -> Callable[..., Run]:
    endpoint = endpoints.create_endpoint(
        actor=operator, document=EndpointDocument("sim", "http://127.0.0.1:9999", "m")
    )
    workload = workloads.create_workload(actor=operator, name="chat", document={"kind": "fixed"})
    version = lines.save_policy(actor=operator, document=POLICY).version

    def make(rate: float, **more: Any) -> Run:
        scenario = {
            "arrivals": {"process": "poisson", "rate": rate},
            "workload": {"kind": "fixed"},
            "slo": {"spec": {"target": 0.99}},
            "duration_s": 60,
        }
        given = {
            "team": operator.team,
            "endpoint": endpoint,
            "workload": workload,
            "policy_version": version,
            "scenario": scenario,
            "seed": 1,
            "status": Status.DONE,
            "verdict": "pass",
            "summary": summary(rate),
        }
        return Run.objects.create(**{**given, **more})

    return make


@pytest.fixture
def ladder(made: Callable[..., Run]) -> list[Run]:
    return [made(rate) for _ in range(2) for rate in (10.0, 20.0, 30.0, 50.0)]


@pytest.fixture
def page(operator: Actor, page_as: Callable[[Actor], Client]) -> Client:
    return page_as(operator)


def query(run: Run, **more: Any) -> dict[str, Any]:
    return {"endpoint": run.endpoint_id, "workload": run.workload_id, **more}


def test_a_load_becomes_instances_by_the_knee_and_the_slo(page: Client, ladder: list[Run]) -> None:
    answer = page.get(URL, query(ladder[0], load="120"))
    assert answer.status_code == 200
    plan = answer.context["plan"]
    assert plan.knee.load == pytest.approx(36, abs=4)
    assert plan.slo == pytest.approx(30.4, abs=0.1)
    each = min(0.75 * plan.knee.load, plan.slo)
    assert plan.instances.needed == -int(-120 // each)
    assert answer.context["times"] == pytest.approx(120 / plan.knee.load)
    assert b"Poisson arrivals" in answer.content


def test_every_method_stands_on_one_plot_with_the_measured_points(
    page: Client, ladder: list[Run]
) -> None:
    figures = page.get(URL, query(ladder[0])).context["figures"]
    flight, late = figures["figures"]
    names = [line["label"] for line in flight["series"]]
    assert names == ["Measured", "Little", "Batching balance", "P–K", "Engine model"]
    dots, little, balance, waiting, model = flight["columns"]
    assert sum(value is not None for value in dots) == 4
    assert all(any(value is not None for value in line) for line in (little, balance, waiting))
    assert model == [None] * len(figures["x"])
    assert len(late["columns"][0]) == len(figures["x"])
    [span] = figures["spans"]
    assert span["label"] == "70–80 %"


def test_the_engine_model_draws_its_own_curve(
    page: Client, ladder: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_curve, "REQUESTS", 24)
    monkeypatch.setattr(model_curve, "LOADS", 3)
    model_curve._replayed.cache_clear()
    answer = page.get(URL, query(ladder[0], profile="llama3.1-8b-h100-tp1"))
    model = answer.context["figures"]["figures"][0]["columns"][-1]
    assert sum(value is not None for value in model) > 10
    assert answer.context["plan"].most.note.startswith("capped by")
    model_curve._replayed.cache_clear()


def test_repeats_of_a_load_are_rungs_of_several_ladders(ladder: list[Run]) -> None:
    first = ladder[0]
    found = measured.points(first.team, first.endpoint, first.workload)
    assert [len(rungs) for rungs in measured.ladders(found)] == [4, 4]
    assert measured.target_of(found) == 0.99


def test_runs_that_measured_something_else_are_no_points(
    ladder: list[Run], made: Callable[..., Run]
) -> None:
    made(60.0, verdict="invalid")
    made(61.0, status=Status.CANCELLED)
    made(62.0, summary={"offered_rate": 62.0})
    first = ladder[0]
    edited = {**first.scenario, "workload": {"kind": "fixed", "prompt_tokens": 9}}
    Run.objects.filter(pk=first.pk).update(scenario=edited)
    found = measured.points(first.team, first.endpoint, first.workload)
    assert len(found) == len(ladder) - 1


def test_without_parameters_it_shows_the_newest_pair(page: Client, ladder: list[Run]) -> None:
    answer = page.get(URL)
    assert answer.context["endpoint"] == ladder[0].endpoint
    assert answer.context["load"] == 50.0


def test_it_says_what_is_missing(page: Client, made: Callable[..., Run]) -> None:
    assert b"No run has finished yet" in page.get(URL).content
    run = made(5.0, summary=None)
    assert b"Nothing measured yet" in page.get(URL, query(run)).content


@pytest.mark.parametrize("load", ["-1", "x", "0"])
def test_a_load_of_nothing_is_told_beside_its_field(
    load: str, page: Client, ladder: list[Run]
) -> None:
    answer = page.get(URL, query(ladder[0], load=load))
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["load"]


def test_another_teams_endpoint_cannot_be_chosen(
    ladder: list[Run], stranger: Actor, page_as: Callable[[Actor], Client]
) -> None:
    answer = page_as(stranger).get(URL, query(ladder[0]))
    assert answer.status_code == 422
    assert b"sim" not in answer.content.replace(b"simulated", b"")
