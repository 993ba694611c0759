"""The page on running is complete: options, codes, files, keys, processes, workloads, formats."""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.commands import run
from loadtest import builtin, recorder
from loadtest.docs_rows import arrival_rows, behaviour_rows, report_rows, workload_rows
from loadtest.scenario import Scenario
from measurement.verdict import EXIT_CODES

PAGE = (Path(__file__).parents[2] / "docs" / "running.md").read_text("utf-8")


def table(heading: str) -> list[str]:
    """The rows under a heading, without the table's own two head lines."""
    section = re.split(rf"\n##+ {heading}\n", PAGE)[1]
    rows = re.split(r"\n##+ ", section)[0].splitlines()
    return [row for row in rows if row.startswith("|")][2:]


@pytest.mark.parametrize(
    ("heading", "rows"),
    [
        ("Arrivals", arrival_rows),
        ("What clients do", behaviour_rows),
        ("Workloads", workload_rows),
        ("Report formats", report_rows),
    ],
)
def test_the_page_has_exactly_the_rows_that_the_code_writes(
    heading: str, rows: Callable[[], list[str]]
) -> None:
    missing = [row for row in rows() if row not in table(heading)]
    assert not missing, "rows to add to docs/running.md:\n" + "\n".join(missing)
    assert table(heading) == rows()


def test_every_option_has_its_row() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    run.add_arguments(parser)
    options = {option for action in parser._actions for option in action.option_strings}
    assert set(re.findall(r"--[a-z-]+", "\n".join(table("Options")))) == options


def test_every_exit_code_has_its_row() -> None:
    told = {(row.split("|")[2].strip(), int(row.split("|")[1])) for row in table("Exit codes")}
    assert told == set(EXIT_CODES.items()) - {("regression", 11)}


def test_every_file_has_its_row() -> None:
    files = {row.split("`")[1] for row in table("Files")}
    assert files == {
        recorder.SCENARIO,
        recorder.FACTS,
        recorder.SAMPLES,
        recorder.PARQUET,
        recorder.WINDOWS,
        recorder.TRACE,
        recorder.SHADOW,
        recorder.SHADOW_REPORTS,
        recorder.SUMMARY,
    }


def test_every_field_of_a_scenario_is_shown() -> None:
    for field in dataclasses.fields(Scenario):
        assert f'"{field.name}"' in PAGE


def test_every_built_in_name_is_told() -> None:
    for name in (*builtin.WORKLOADS, *builtin.SLOS):
        assert f"`{name}`" in PAGE
