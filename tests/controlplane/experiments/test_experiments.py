"""Stored experiments: asked for, played in a process of their own, shown, and played again."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.test import Client
from django.utils import timezone

from controlplane.experiments import execution, presenting, services, watchdog
from controlplane.experiments.asking import Ask, parse
from controlplane.experiments.ledger import ExperimentLedger
from controlplane.experiments.models import Experiment, ExperimentResult, Status
from controlplane.runs.child import Child
from controlplane.teams.rights import Actor
from documents.problem import DocumentError
from headway.__main__ import main
from loadtest.reproduce.curve import Curve, Line, Shade
from loadtest.reproduce.document import document_of
from loadtest.reproduce.plan import Plan, cell
from loadtest.reproduce.rendering import text as rendered
from loadtest.reproduce.series import Series
from loadtest.reproduce.systems.base import systems
from loadtest.reproduce.table import Finding, Reproduction, Row

pytestmark = pytest.mark.django_db

FIXTURES = Path(__file__).parents[2] / "loadtest" / "reproduce" / "fixtures"
CONFIGURATION = json.loads((FIXTURES / "contradictory.json").read_text("utf-8"))

NEVER = float("inf")
NONE = Series((NEVER, NEVER))
PLAYED = Reproduction(
    rows=(
        Row(
            case="steady",
            measure="makespan",
            unit="s",
            claimed=cell(98.4),
            reference=cell(Series((120.0, 130.0))),
            corrected=cell(Series((20.0, 21.0))),
            best_fixed=cell(Series((19.0, 20.0)), "45"),
            optimum=cell(17.8),
        ),
        Row(case="steady", measure="back at", reference=cell(Series((1.0, float("inf"))))),
        Row(case="words", measure="what", claimed=cell("none <b>")),
    ),
    findings=(Finding("The corrected law is quicker.", True), Finding("It is best.", True)),
    curves=(
        Curve(
            case="steady",
            measure="limit",
            unit="tasks",
            along="s",
            x=(0.0, 1.0, 2.0),
            lines=(
                Line("reference law", (Series((1.0, 3.0)), Series((5.0, NEVER)), NONE)),
                Line("", (Series((4.0, 4.0)), Series((7.0, 5.0)), NONE), "no control"),
            ),
            shades=(Shade(0.5, 1.0, "burst"),),
        ),
    ),
)


@pytest.fixture
def page(operator: Actor, page_as: Callable[[Actor], Client]) -> Client:
    return page_as(operator)


@pytest.fixture
def experiment(operator: Actor) -> Experiment:
    return services.start(actor=operator, ask=Ask("congestion", 3, reduced=True))


def finish(experiment: Experiment, played: Reproduction = PLAYED, version: str = "1") -> Experiment:
    taken = services.claim(experiment.pk)
    assert taken
    document = document_of("congestion", Plan((1, 2), reduced=True), played)
    stored = json.loads(json.dumps(document, allow_nan=False))
    told = {"result": stored, "runs": 12, "seconds": 3.0, "version": version}
    ExperimentLedger(taken).finish(Status.DONE, summary=told)
    return Experiment.objects.get(pk=experiment.pk)


def text(answer: Any) -> str:
    return html.unescape(answer.content.decode())


def test_a_real_play_ends_with_the_numbers_of_the_command(
    operator: Actor, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    experiment = services.start(actor=operator, ask=Ask("congestion", 1, reduced=True))
    taken = services.claim(experiment.pk)
    assert taken
    execution.execute(taken)
    taken.refresh_from_db()
    assert (taken.status, taken.reason) == (Status.DONE, "")
    found = taken.found
    assert found
    assert found.document["seeds"] == [1]
    assert found.runs > 2
    assert taken.live["version"] == found.version
    plan = Plan((1,), reduced=True)
    here = document_of("congestion", plan, systems.get("congestion", path="")().play(plan))
    assert json.loads(json.dumps(here)) == found.document


def test_a_cancel_ends_the_process_at_once(
    operator: Actor, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    long = services.start(actor=operator, ask=Ask("agents", 30))
    taken = services.claim(long.pk)
    assert taken
    heard: Any = Child.hear

    def hear(child: Child, timeout: float) -> Any:
        message = heard(child, timeout)
        if message and message["type"] == "progress":
            status = Experiment.objects.values_list("status", flat=True).get(pk=long.pk)
            if status == Status.RUNNING:
                services.cancel(actor=operator, experiment=Experiment.objects.get(pk=long.pk))
        return message

    monkeypatch.setattr(Child, "hear", hear)
    execution.execute(taken)
    taken.refresh_from_db()
    assert taken.status == Status.CANCELLED
    assert taken.reason == f"Cancelled by {operator.name}."
    assert taken.found is None


def test_the_page_has_the_table_the_sentences_the_figures_and_the_command(
    experiment: Experiment, page: Client
) -> None:
    done = finish(experiment)
    answer = page.get(done.get_absolute_url())
    shown = text(answer)
    assert "Supported" in shown
    assert "The corrected law is quicker." in shown
    assert "headway reproduce congestion --seeds 3 --reduced --out results" in shown
    rows = answer.context["rows"]
    cells = [cell["text"] for cell in rows[0]["cells"]]
    assert cells == ["98.4", "125 ± 63.5", "20.5 ± 6.35", "19.5 ± 6.35 (45)", "17.8"]
    assert all(cell in rendered(PLAYED) for cell in cells)
    assert rows[1]["cells"][1]["text"] == "never with 1 of 2 seeds"
    [figure] = answer.context["figures"]["figures"]
    assert figure["columns"] == [[98.4, 98.4], [120, 130], [20, 21], [19, 20], [17.8, 17.8]]
    assert [line["dots"] for line in figure["series"]] == [False, True, True, True, False]
    [curve] = answer.context["figures"]["curves"]
    assert (curve["x"], curve["columns"]) == ((0.0, 1.0), [[2.0, None], [4.0, 6.0]])
    assert [line["label"] for line in curve["series"]] == ["Reference law", "No control"]
    assert curve["bands"][0] == {"color": "s2", "low": [1.0, None], "high": [3.0, None]}
    assert curve["said"] == "Highest: Reference law 2 (at 0 s), No control 6 (at 1 s)."
    assert "As it went" in shown
    assert "none <b>" not in answer.content.decode()
    written = json.loads(page.get(f"{done.get_absolute_url()}result.json").content)
    assert written == done.result.document


def test_the_database_refuses_to_change_a_result(experiment: Experiment) -> None:
    finish(experiment)
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        ExperimentResult.objects.update(holds=False)


def test_two_seeds_decide_nothing(operator: Actor, page: Client) -> None:
    two = services.start(actor=operator, ask=Ask("congestion", 2, reduced=True))
    shown = text(page.get(finish(two).get_absolute_url()))
    assert "Too few seeds" in shown
    assert "Nothing is decided over 2 seeds; every sentence agrees" in shown
    assert "Supported" not in shown


def test_a_sentence_that_does_not_hold_makes_the_verdict(
    experiment: Experiment, page: Client
) -> None:
    findings = (Finding("It is best.", False),)
    done = finish(experiment, Reproduction(PLAYED.rows, findings))
    shown = text(page.get(done.get_absolute_url()))
    assert "Not supported" in shown
    assert "not supported" in text(page.get("/experiments/")).lower()


@pytest.mark.parametrize("same", [True, False])
def test_run_again_says_whether_the_numbers_are_the_same(
    experiment: Experiment, page: Client, same: bool
) -> None:
    first = finish(experiment)
    answer = page.post(f"{first.get_absolute_url()}again/")
    second = Experiment.objects.get(again_of=first)
    assert answer["Location"] == second.get_absolute_url()
    assert (second.system, second.seeds, second.reduced) == ("congestion", 3, True)
    other = Reproduction(PLAYED.rows[1:], PLAYED.findings)
    second = finish(second, PLAYED if same else other, version="1" if same else "2")
    shown = text(page.get(second.get_absolute_url()))
    if same:
        assert "to the last digit" in shown
    else:
        assert "1 of its rows differ, first steady, makespan" in shown
        assert "played by version 1, this by 2" in shown
    assert second.short_id in text(page.get(first.get_absolute_url()))


def test_how_far_a_first_play_is_is_told_within_its_runs(
    experiment: Experiment, operator: Actor, page: Client
) -> None:
    taken = services.claim(experiment.pk)
    assert taken
    assert page.get(experiment.get_absolute_url()).context["progress"]["of"] == 75
    ledger = ExperimentLedger(taken)
    ledger.hear_progress({"runs": 3, "done": 3.5, "of": 75, "seconds": 7.0})
    ledger.store()
    answer = page.get(experiment.get_absolute_url())
    assert "3 of 75 runs" in text(answer)
    assert 'max="75" value="3.5"' in text(answer)
    assert answer.context["progress"]["left"] == "2:23"
    done = finish(services.start(actor=operator, ask=Ask("congestion", 1, reduced=True)))
    live = page.get(experiment.get_absolute_url(), headers={"HX-Request": "true"})
    assert "HX-Refresh" not in live
    over = page.get(done.get_absolute_url(), headers={"HX-Request": "true"})
    assert over["HX-Refresh"] == "true"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "system"),
        ({"system": "nothing"}, "system"),
        ({"system": "congestion", "seeds": 0}, "seeds"),
        ({"system": "congestion", "seeds": 31}, "seeds"),
        ({"system": "congestion", "reduced": "yes"}, "reduced"),
        ({"system": "congestion", "speed": 2}, "speed"),
        ({"system": "agents", "served": True}, "served"),
        ({"system": "congestion", "configuration": CONFIGURATION}, "configuration"),
        (
            {"system": "queueing", "configuration": {"slo": {"ttft_ms": "soon"}}},
            "configuration.slo.ttft_ms",
        ),
        ({"system": "queueing", "configuration": CONFIGURATION, "served": True}, "served"),
        ({"system": "queueing", "configuration": CONFIGURATION, "profile": "/etc/x"}, "profile"),
        ({"system": "queueing", "profile": "qwen3-32b-h100-tp2"}, "profile"),
        ({"system": "agents", "scale": 2}, "scale"),
        ({"system": "batching", "scale": 0.5}, "scale"),
        ({"system": "batching", "scale": 61}, "scale"),
        ({"system": "batching", "scale": 2, "reduced": True}, "scale"),
        ({"system": "congestion", "scale": 2, "served": True}, "scale"),
        ({"system": "batching", "scale": 1, "seeds": 3}, "seeds"),
    ],
)
def test_what_can_not_be_played_is_refused_by_field(body: dict[str, Any], path: str) -> None:
    with pytest.raises(DocumentError) as told:
        parse(body)
    assert path in [problem.path for problem in told.value.problems]


def test_the_form_and_the_api_start_and_a_viewer_only_looks(
    page: Client,
    operator: Actor,
    actor_as: Callable[..., Actor],
    page_as: Callable[[Actor], Client],
    api_as: Callable[..., Any],
) -> None:
    answer = page.post("/experiments/new/", {"system": "queueing", "seeds": 3})
    made = Experiment.objects.get()
    assert answer["Location"] == made.get_absolute_url()
    assert (made.system, made.seeds, made.reduced) == ("queueing", 3, False)
    assert page.post("/experiments/new/", {"system": "x", "seeds": 0}).status_code == 422
    call = api_as(operator)
    told = call("post", "/experiments", {"system": "agents"}, Idempotency_Key="k")
    assert told.status_code == 202
    of = 5 * systems.get("agents").passes[0]
    assert told.json()["progress"] == {"runs": 0, "done": 0, "of": of}
    assert told["Location"] == told.json()["links"]["self"]
    own = call("post", f"/experiments/{made.pk}/cancel")
    assert own.json()["status"] == "cancelled"
    assert call("post", f"/experiments/{made.pk}/cancel").status_code == 409
    viewer = actor_as("viewer")
    looking = page_as(viewer)
    assert looking.get("/experiments/").status_code == 200
    assert looking.get(made.get_absolute_url()).status_code == 200
    assert looking.get("/experiments/new/").status_code == 403
    for act in ("cancel", "again"):
        assert looking.post(f"{made.get_absolute_url()}{act}/").status_code == 403
    refused = api_as(viewer)("post", "/experiments", {"system": "agents"}, Idempotency_Key="v")
    assert refused.status_code == 403


def test_one_whose_supervisor_is_gone_is_lost_and_one_that_waits_is_sent_again(
    experiment: Experiment, operator: Actor
) -> None:
    taken = services.claim(experiment.pk)
    assert taken
    waiting = services.start(actor=operator, ask=Ask("agents"))
    later = timezone.now() + watchdog.UNCLAIMED_AFTER * 2
    swept = watchdog.sweep(later)
    assert (swept.lost, swept.unclaimed) == (1, 1)
    taken.refresh_from_db()
    waiting.refresh_from_db()
    assert taken.status == Status.LOST
    assert "No worker has taken this experiment" in waiting.reason


def test_a_configuration_is_played_by_a_process_and_shown_with_what_is_wrong_with_it(
    operator: Actor, page: Client, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    short = {**CONFIGURATION, "loadgen": {**CONFIGURATION["loadgen"], "duration_s": 3}}
    form = {
        "system": "queueing", "way": "configuration", "seeds": 1, "reduced": "on",
        "configuration": json.dumps(short), "profile": "qwen3-32b-h100-tp2",
    }  # fmt: skip
    answer = page.post("/experiments/new/", form)
    made = Experiment.objects.get()
    assert answer["Location"] == made.get_absolute_url(), text(answer)
    taken = services.claim(made.pk)
    assert taken
    execution.execute(taken)
    taken.refresh_from_db()
    assert (taken.status, taken.reason) == (Status.DONE, "")
    found = taken.found
    assert found
    assert (found.document["system"], found.runs) == ("queueing-configuration", 2)
    shown = text(page.get(made.get_absolute_url()))
    assert "What is wrong with the configuration" in shown
    assert "by Little's law" in shown
    assert "The configuration contradicts itself 5 times." in shown
    assert "--config configuration.json --profile qwen3-32b-h100-tp2 --seeds 1 --reduced" in shown
    file = page.get(f"{made.get_absolute_url()}configuration.json")
    assert json.loads(file.content) == short
    again = services.again(actor=operator, experiment=taken)
    assert (again.way, again.configuration) == (made.way, made.configuration)


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [
        ({"configuration": ""}, "configuration", "required"),
        ({"configuration": "{"}, "configuration", "This is no JSON"),
        ({"configuration": "[]"}, "configuration", "must be an object"),
        ({"configuration": '{"slo": 3}'}, "configuration", "slo must be an object"),
        ({"system": "agents"}, "system", "only queueing has a configuration"),
        ({"system": "agents", "way": "served"}, "way", "a load test sends single requests"),
    ],
)
def test_the_form_tells_what_can_not_be_played_at_its_field(
    changed: dict[str, Any], field: str, said: str, page: Client
) -> None:
    form = {
        "system": "queueing", "way": "configuration", "seeds": 1,
        "configuration": json.dumps(CONFIGURATION), "profile": "qwen3-32b-h100-tp2",
    }  # fmt: skip
    answer = page.post("/experiments/new/", form | changed)
    assert answer.status_code == 422
    assert said in str(answer.context["form"].errors[field])
    assert not Experiment.objects.exists()


def test_a_play_over_http_says_so_and_is_never_told_to_be_the_same(
    operator: Actor, page: Client
) -> None:
    ask = parse({"system": "congestion", "seeds": 2, "served": True, "reduced": True})
    first = services.start(actor=operator, ask=ask)
    assert first.way == Experiment.Way.SERVED
    assert "headway reproduce congestion --served --seeds 2" in presenting.command(first)
    first = finish(first)
    second = finish(
        services.again(actor=operator, experiment=first),
        Reproduction(PLAYED.rows[1:], PLAYED.findings),
    )
    shown = text(page.get(second.get_absolute_url()))
    assert "Measured again." in shown
    assert "no two plays are alike: 1 of its rows differ" in shown
    assert "Over HTTP" in text(page.get("/experiments/"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("0.5", ""), "must be from 1 (the whole day) to 60 (each hour in a minute)"),
        (("2", "on"), "has a size of its own when reduced; leave one of them out"),
    ],
)
def test_a_scale_is_refused_in_the_same_words_by_form_api_and_command(
    given: tuple[str, str], said: str, page: Client, operator: Actor,
    api_as: Callable[..., Any], capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    scale, reduced = given
    form = {"system": "batching", "seeds": 1, "scale": scale, "reduced": reduced}
    answer = page.post("/experiments/new/", form)
    assert answer.context["form"].errors["scale"] == [said]
    body = {"system": "batching", "seeds": 1, "scale": float(scale), "reduced": bool(reduced)}
    told = api_as(operator)("post", "/experiments", body, Idempotency_Key="k")
    assert told.status_code == 422
    assert said in told.content.decode()
    words = ["reproduce", "batching", "--scale", scale, *(["--reduced"] if reduced else [])]
    assert main(words) == 20
    assert said in capsys.readouterr().err


def test_a_day_at_a_scale_is_asked_for_played_told_and_played_again(
    page: Client, operator: Actor, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = {"system": "batching", "way": "virtual", "seeds": 1, "scale": "1"}
    answer = page.post("/experiments/new/", form)
    made = Experiment.objects.get()
    assert answer["Location"] == made.get_absolute_url()
    shown = text(page.get(made.get_absolute_url()))
    assert "headway reproduce batching --scale 1 --seeds 1 --out results" in shown
    assert "the whole day" in shown
    assert "the whole day" in text(page.get("/experiments/"))
    settings.DATA_DIR, asked = tmp_path, list[list[str]]()

    def begun(argv: list[str], **_: object) -> Child:
        asked.append(argv)
        raise RuntimeError("not here")

    monkeypatch.setattr(Child, "__init__", lambda _self, argv, **_: begun(argv))
    taken = services.claim(made.pk)
    assert taken
    execution.execute(taken)
    assert asked[0][asked[0].index("--scale") + 1] == "1.0"
    taken.refresh_from_db()
    assert services.again(actor=operator, experiment=taken).scale == 1.0


def test_every_sign_of_a_table_is_explained_under_it(experiment: Experiment, page: Client) -> None:
    row = Row(case="work σ 0.1", measure="P99", reference=cell(Series((1.0, 3.0))))
    done = finish(experiment, Reproduction((row, row), PLAYED.findings))
    signs = [one.sign for one in page.get(done.get_absolute_url()).context["signs"]]
    assert signs == ["±", "–", "σ", "P50, P95, P99"]
    assert "standard deviation of the logarithm" in text(page.get(done.get_absolute_url()))


def test_one_seed_has_no_figures_but_says_what_more_would_show(
    operator: Actor, page: Client
) -> None:
    one = services.start(actor=operator, ask=Ask("congestion", 1, reduced=True))
    row = Row(case="c", measure="m", reference=cell(Series((1.0,))), corrected=cell(Series((2.0,))))
    alone = Reproduction((row,), PLAYED.findings)
    taken = services.claim(one.pk)
    assert taken
    document = document_of("congestion", Plan((1,), reduced=True), alone)
    told = {"result": document, "runs": 2, "seconds": 1.0, "version": "1"}
    ExperimentLedger(taken).finish(Status.DONE, summary=told)
    answer = page.get(one.get_absolute_url())
    assert answer.context["figures"]["figures"] == []
    assert "shows whether a difference is the laws' or luck" in text(answer)
    link = "?system=congestion&way=virtual&seeds=5&reduced=on"
    assert link in text(answer)
    opened = page.get(f"/experiments/new/{link}").context["form"]
    assert [opened[name].value() for name in ("system", "seeds", "reduced")] == [
        "congestion", "5", "on",
    ]  # fmt: skip
