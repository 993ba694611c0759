"""A history tells which runs belong together, where their level changed, and who has said why."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from controlplane.audit.models import AuditEntry
from controlplane.catalogue.documents import EndpointDocument
from controlplane.catalogue.examples import POLICY
from controlplane.catalogue.services import endpoints, lines, workloads
from controlplane.history import presenting, series, services
from controlplane.history.models import Acknowledgement
from controlplane.runs.models import Run, Status
from controlplane.teams.rights import Actor, Denied
from documents.problem import DocumentError

URL = "/history/"
START = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def made(operator: Actor) -> Callable[..., Run]:
    """One run, ``day`` after the first; ``p95`` in ms decides TTFT."""
    endpoint = endpoints.create_endpoint(
        actor=operator, document=EndpointDocument("sim", "http://127.0.0.1:9999", "m")
    )
    workload = workloads.create_workload(actor=operator, name="chat", document={"kind": "fixed"})
    version = lines.save_policy(actor=operator, document=POLICY).version

    def make(day: int, p95: float, *, rate: float = 20.0, **more: Any) -> Run:
        percentiles = {"p50": p95 / 2, "p95": p95, "p99": None, "rough": {"p99": 2 * p95}, "n": 99}
        summary = {
            "ttft_ms": percentiles,
            "tpot_ms": {"p50": 20.0, "p95": 25.0, "p99": 30.0, "n": 900},
            "attainment": 0.99,
        }
        scenario = {
            "arrivals": {"process": "poisson", "rate": rate},
            "duration_s": 60,
            "workload": {"kind": "fixed"},
        }
        run = Run.objects.create(
            **{
                "team": operator.team,
                "endpoint": endpoint,
                "workload": workload,
                "policy_version": version,
                "scenario": scenario,
                "seed": day,
                "status": Status.DONE,
                "verdict": "pass",
                "summary": summary,
                **more,
            }
        )
        Run.objects.filter(pk=run.pk).update(created_at=START + timedelta(days=day))
        return Run.objects.get(pk=run.pk)

    return make


@pytest.fixture
def shifted(made: Callable[..., Run]) -> list[Run]:
    """Twelve runs at 200 ms and eight at 260."""
    return [made(day, (200 if day < 12 else 260) + day % 3) for day in range(20)]


def found(run: Run) -> list[series.Change]:
    key = series.load_key(run.scenario)
    return series.changes(series.runs(run.team, run.endpoint, run.workload, key))


def test_a_shift_is_told_at_its_first_run_with_both_levels(shifted: list[Run]) -> None:
    changes = found(shifted[0])
    assert {change.name for change in changes} == {"ttft_p50", "ttft_p95", "ttft_p99"}
    p95 = next(change for change in changes if change.name == "ttft_p95")
    assert p95.run == shifted[12]
    assert p95.worse
    assert presenting.words(p95) == "TTFT P95 from 201.0 to 261.0 ms (+30 %)"


def test_a_shift_too_small_to_matter_is_not_told(made: Callable[..., Run]) -> None:
    runs = [made(day, 200.0 if day < 12 else 206.0) for day in range(20)]
    assert found(runs[0]) == []


def test_runs_of_another_load_or_with_an_invalid_stimulus_make_no_series(
    shifted: list[Run], made: Callable[..., Run]
) -> None:
    made(30, 900.0, rate=40.0)
    made(31, 900.0, verdict="invalid")
    made(32, 900.0, status=Status.CANCELLED)
    first = shifted[0]
    key = series.load_key(first.scenario)
    assert series.runs(first.team, first.endpoint, first.workload, key) == shifted
    loads = series.loads(first.team, first.endpoint, first.workload)
    assert [(load["said"], load["runs"]) for load in loads] == [
        ("poisson, 20 requests/s, 60 s", 20),
        ("poisson, 40 requests/s, 60 s", 1),
    ]


def test_the_level_moves_at_the_change(shifted: list[Run]) -> None:
    figures = presenting.figures(shifted, found(shifted[0]))["figures"]
    ttft = figures[0]
    assert ttft["columns"][-1] == [201.0] * 12 + [261.0] * 8
    assert ttft["weak"][2] == [True] * 20, "P99 of 99 answers is grey"
    assert figures[2]["said"] == "No change of level."


def test_a_change_is_acknowledged_with_a_note_and_that_is_audited(
    shifted: list[Run], operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    page = page_as(operator)
    query = {"endpoint": shifted[0].endpoint_id, "workload": shifted[0].workload_id}
    before = page.get(URL, query)
    assert before.context["unseen"] == 3
    said = {"run": shifted[12].pk, "metric": "ttft_p95", "note": "new driver"}
    answer = page.post(f"{URL}acknowledge/", said, follow=True)
    assert answer.context["unseen"] == 2
    assert b"new driver" in answer.content
    entry = AuditEntry.objects.filter(verb="acknowledge_change").get()
    assert entry.detail == {"metric": "ttft_p95", "note": "new driver"}
    services.acknowledge(actor=operator, run=shifted[12], metric="ttft_p95", note="no, the model")
    assert Acknowledgement.objects.get().note == "no, the model"


def test_a_note_holds_when_the_change_moves_by_a_run(shifted: list[Run], operator: Actor) -> None:
    services.acknowledge(actor=operator, run=shifted[13], metric="ttft_p95", note="driver")
    noted = {change.name: change.noted for change in found(shifted[0])}
    assert noted["ttft_p95"] is not None
    assert noted["ttft_p50"] is None


@pytest.mark.parametrize(
    ("changes", "path"),
    [({"note": "  "}, "note"), ({"note": "x" * 501}, "note"), ({"metric": "x"}, "metric")],
)
def test_what_is_no_note_is_refused_and_the_page_says_so(
    changes: dict[str, str],
    path: str,
    shifted: list[Run],
    operator: Actor,
    page_as: Callable[[Actor], Client],
) -> None:
    given = {"metric": "ttft_p95", "note": "why", **changes}
    with pytest.raises(DocumentError) as refused:
        services.acknowledge(actor=operator, run=shifted[12], **given)
    assert [problem.path for problem in refused.value.problems] == [path]
    answer = page_as(operator).post(f"{URL}acknowledge/", {"run": shifted[12].pk, **given})
    assert answer.status_code == 422
    assert answer.context["problems"]
    assert not Acknowledgement.objects.exists()


def test_a_viewer_sees_and_may_not_acknowledge(
    shifted: list[Run], actor_as: Callable[..., Actor], page_as: Callable[[Actor], Client]
) -> None:
    viewer = actor_as("viewer")
    with pytest.raises(Denied):
        services.acknowledge(actor=viewer, run=shifted[12], metric="ttft_p95", note="why")
    query = {"endpoint": shifted[0].endpoint_id, "workload": shifted[0].workload_id}
    assert b"needs the role operator" in page_as(viewer).get(URL, query).content


def test_another_teams_history_does_not_exist(
    shifted: list[Run], stranger: Actor, page_as: Callable[[Actor], Client]
) -> None:
    page = page_as(stranger)
    query = {"endpoint": shifted[0].endpoint_id, "workload": shifted[0].workload_id}
    assert page.get(URL, query).status_code == 404
    assert page.get(URL, {"endpoint": "x"}).status_code == 404
    said = {"run": shifted[12].pk, "metric": "ttft_p95", "note": "mine"}
    assert page.post(f"{URL}acknowledge/", said).status_code == 404
    assert b"No run has finished yet" in page.get(URL).content


def test_a_short_history_says_how_many_runs_it_needs(
    made: Callable[..., Run], operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    run = made(0, 200.0)
    query = {"endpoint": run.endpoint_id, "workload": run.workload_id}
    assert b"1 of the 10 runs" in page_as(operator).get(URL, query).content
    [row] = page_as(operator).get(URL).context["pairs"]
    assert row["runs"] == 1


def test_every_metric_reads_a_number_of_the_report(shifted: list[Run]) -> None:
    summary = shifted[0].summary or {}
    assert {name: metric.of(summary) for name, metric in series.METRICS.items()} == {
        "ttft_p50": 100.0,
        "ttft_p95": 200.0,
        "ttft_p99": 400.0,
        "tpot_p50": 20.0,
        "tpot_p95": 25.0,
        "tpot_p99": 30.0,
        "attainment": 99.0,
    }
    assert all(metric.of({}) is None for metric in series.METRICS.values())
