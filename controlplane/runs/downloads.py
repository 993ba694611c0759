"""A run's data to take home: streamed from its files and rows, as JSON lines or CSV."""

from __future__ import annotations

import csv
import heapq
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from controlplane.runs.models import Run, RunDecision, RunWindow
from controlplane.runs.storage import directory
from controlplane.teams.access import page
from loadtest.recorder import read_samples

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
BATCH = 500

Records = Iterable[Mapping[str, Any]]


class _Echo:
    """A file whose writes come back, so that a CSV can be made a line at a time."""

    def write(self, text: str) -> str:
        return text


def cell(value: object) -> object:
    """A CSV cell that no spreadsheet takes for a formula; numbers stay numbers."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def csv_lines(records: Records) -> Iterator[str]:
    """A head of the first record's keys, then one line each."""
    writer = csv.writer(_Echo())
    keys: list[str] = []
    for record in records:
        if not keys:
            keys = list(record)
            yield writer.writerow(keys)  # type: ignore[misc]
        yield writer.writerow([cell(record.get(key)) for key in keys])  # type: ignore[misc]


def json_lines(records: Records) -> Iterator[bytes]:
    for record in records:
        yield msgspec.json.encode(record) + b"\n"


FORMS: dict[str, tuple[str, Callable[[Records], Iterator[Any]]]] = {
    "csv": ("text/csv; charset=utf-8", csv_lines),
    "jsonl": ("application/x-ndjson", json_lines),
}


async def _in_batches(lines: Iterator[Any]) -> AsyncIterator[bytes]:
    """For a server that is asynchronous: a batch at a time, each read beside its event loop."""
    read = sync_to_async(lambda: list(islice(lines, BATCH)))
    while batch := await read():
        yield b"".join(line if isinstance(line, bytes) else line.encode() for line in batch)


def _stream(
    request: HttpRequest, name: str, form: str, of: Callable[[Run], Records], run_id: object
) -> StreamingHttpResponse:
    run = _own(request, run_id)
    if form not in FORMS:
        raise Http404(f"{name} come as {' or '.join(FORMS)}")
    kind, lines_of = FORMS[form]
    lines = lines_of(of(run))
    file_name = f"run-{run.short_id}-{name}.{form}"
    return StreamingHttpResponse(
        _in_batches(lines) if isinstance(request, ASGIRequest) else lines,
        content_type=kind,
        headers={
            "Content-Disposition": f'attachment; filename="{file_name}"',
            "X-Content-Type-Options": "nosniff",
        },
    )


def _own(request: HttpRequest, run_id: object) -> Run:
    return get_object_or_404(Run.objects.for_team(request.team), pk=run_id)


def _samples(run: Run) -> Records:
    return (msgspec.to_builtins(sample) for sample in read_samples(directory(run)))


def _windows(run: Run) -> Records:
    rows = RunWindow.objects.filter(run=run).order_by("index")
    return rows.values_list("data", flat=True).iterator(chunk_size=BATCH)


def _trace(run: Run) -> Records:
    """In order of time; ``policy`` says whose line it is, the active one's or the shadow's."""
    traces = (_decided(run, shadow=shadow) for shadow in (False, True))
    return heapq.merge(*traces, key=lambda line: line["at"])


def _decided(run: Run, *, shadow: bool) -> Iterator[dict[str, Any]]:
    rows = RunDecision.objects.filter(run=run, shadow=shadow).order_by("n")
    policy = "shadow" if shadow else "active"
    for data in rows.values_list("data", flat=True).iterator(chunk_size=BATCH):
        yield {**data, "policy": policy}


@page()
def samples(request: HttpRequest, run_id: object, form: str) -> StreamingHttpResponse:
    return _stream(request, "samples", form, _samples, run_id)


@page()
def windows(request: HttpRequest, run_id: object, form: str) -> StreamingHttpResponse:
    return _stream(request, "windows", form, _windows, run_id)


@page()
def trace(request: HttpRequest, run_id: object, form: str) -> StreamingHttpResponse:
    return _stream(request, "trace", form, _trace, run_id)


@page()
def summary(request: HttpRequest, run_id: object) -> HttpResponse:
    run = _own(request, run_id)
    if run.summary is None:
        raise Http404("this run has no report yet")
    name = f"run-{run.short_id}-summary.json"
    response = JsonResponse(run.summary, json_dumps_params={"indent": 2})
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
