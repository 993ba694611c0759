"""Files to take home: whole, streamed, and harmless in a spreadsheet."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import AsyncClient, Client

from controlplane.runs import downloads
from controlplane.runs.models import Run
from controlplane.runs.storage import directory
from controlplane.teams.models import User
from loadtest.recorder import Recorder
from measurement.outcome import Outcome
from tests.controlplane.runs.conftest import failed, sample
from tests.controlplane.runs.test_frames import SUMMARY, play


@pytest.fixture
def page(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def recorded(claimed: Run, settings: Any, tmp_path: Path) -> Run:
    settings.DATA_DIR = tmp_path
    out = directory(claimed)
    out.mkdir(parents=True)
    with Recorder(out) as recorder:
        recorder.sample(sample(0, 0.25))
        recorder.sample(failed(1, 0.5, Outcome.CONNECT))
    play(claimed, out)
    return claimed


def rows(answer: Any) -> list[dict[str, str]]:
    text = b"".join(answer.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.django_db
def test_samples_come_as_csv(page: Client, recorded: Run) -> None:
    answer = page.get(f"/runs/{recorded.pk}/samples/")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert f"run-{recorded.short_id}-samples.csv" in answer["Content-Disposition"]
    found = rows(answer)
    assert [row["outcome"] for row in found] == ["ok", "connect"]
    assert (found[0]["intended_at"], found[1]["first_token_at"]) == ("0.25", "")


@pytest.mark.django_db
def test_samples_come_as_json_lines(page: Client, recorded: Run) -> None:
    answer = page.get(f"/runs/{recorded.pk}/samples.jsonl")
    lines = b"".join(answer.streaming_content).splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["ok", "connect"]


@pytest.mark.django_db
def test_windows_and_the_trace_come_as_they_are_stored(page: Client, recorded: Run) -> None:
    windows = page.get(f"/runs/{recorded.pk}/windows.jsonl")
    lines = [json.loads(line) for line in b"".join(windows.streaming_content).splitlines()]
    assert lines == list(recorded.windows.values_list("data", flat=True))
    trace = rows(page.get(f"/runs/{recorded.pk}/trace.csv"))
    assert [row["after"] for row in trace] == ["9"] * 9


@pytest.mark.django_db
def test_the_report_comes_once_there_is_one(page: Client, recorded: Run) -> None:
    assert page.get(f"/runs/{recorded.pk}/summary.json").json() == SUMMARY
    Run.objects.filter(pk=recorded.pk).update(summary=None)
    assert page.get(f"/runs/{recorded.pk}/summary.json").status_code == 404


@pytest.mark.django_db
def test_an_unknown_form_is_not_there(page: Client, recorded: Run) -> None:
    assert page.get(f"/runs/{recorded.pk}/samples.xlsx").status_code == 404


@pytest.mark.django_db
def test_a_run_that_left_no_files_has_an_empty_list(page: Client, run: Run) -> None:
    assert b"".join(page.get(f"/runs/{run.pk}/samples.jsonl").streaming_content) == b""


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert downloads.cell(text) == f"'{text}"


@pytest.mark.parametrize("value", [-1.5, 3, None, True, "plain"])
def test_other_cells_stay_as_they_are(value: object) -> None:
    assert downloads.cell(value) == value


@pytest.mark.django_db(transaction=True)
def test_an_asynchronous_server_streams_in_batches(recorded: Run, user: User) -> None:
    client = AsyncClient()
    client.force_login(user)

    async def read() -> list[bytes]:
        answer = await client.get(f"/runs/{recorded.pk}/samples.jsonl")
        assert answer.is_async
        return [chunk async for chunk in answer]

    (chunk,) = asyncio.run(read())
    assert len(chunk.splitlines()) == 2
