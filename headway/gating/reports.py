"""A gate's run on the terminal and in files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loadtest.gate_reports.annotations import commands
from loadtest.gate_reports.cases import cases_of
from loadtest.gate_reports.junit import junit as as_junit
from loadtest.gate_reports.markdown import markdown as as_markdown

_PLAIN = {"infrastructure": "NOT JUDGED"}


def write(
    run: Mapping[str, Any],
    *,
    server: str,
    junit: Path | None,
    as_json: Path | None,
    markdown: Path | None,
) -> None:
    """The files that were asked for, each whole."""
    if junit:
        junit.write_text(as_junit(run), "utf-8")
    if as_json:
        as_json.write_text(json.dumps(run, ensure_ascii=False, indent=2) + "\n", "utf-8")
    if markdown:
        markdown.write_text(as_markdown(run, server=server), "utf-8")


def lines(run: Mapping[str, Any], *, server: str, annotate: bool = False) -> Iterator[str]:
    """The verdict with its because, then each thing that was judged."""
    outcome = str(run["outcome"])
    yield one_line(f"{_PLAIN.get(outcome, outcome.upper())}  gate {run['gate']}: {run['because']}")
    for case in cases_of(run):
        yield one_line(f"{case.outcome:<14}{case.name}", indent=2)
        if not case.passed and case.because != run["because"]:
            yield one_line(case.because, indent=16)
    yield one_line(f"{server}{run['links']['page']}")
    if annotate:
        yield from commands(run)


def one_line(text: str, *, indent: int = 0) -> str:
    """Nothing that an engine or a server said begins a line of its own or moves the cursor."""
    kept = "".join(c if c.isprintable() else " " for c in text)
    return " " * indent + (kept.lstrip(":") if not indent else kept)
