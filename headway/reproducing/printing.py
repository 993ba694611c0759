"""A played system on the page, and as a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from documents.problem import DocumentError, Problem
from loadtest.reproduce.document import document_of
from loadtest.reproduce.legend import legend
from loadtest.reproduce.plan import Plan
from loadtest.reproduce.rendering import text
from loadtest.reproduce.table import ENOUGH_SEEDS, Reproduction


@dataclass(frozen=True, slots=True)
class Title:
    """What was played, and which law is which."""

    name: str
    summary: str
    laws: str


def show(title: Title, result: Reproduction, plan: Plan, out: Path | None, **more: Any) -> bool:
    """Print it, write NAME.json with what ``more`` it has; whether all its sentences hold."""
    print(f"## {title.name}\n\n{title.summary}.\n{title.laws}.\n\n{text(result)}\n", flush=True)
    if len(plan.seeds) < ENOUGH_SEEDS:
        print(f"{_undecided(len(plan.seeds), holds=result.holds)}\n", flush=True)
    print(f"{signs(result, title.laws)}\n", flush=True)
    if out is not None:
        document = document_of(title.name, plan, result, **more)
        written = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        write(out / f"{title.name}.json", written + "\n")
    return result.holds


def _undecided(seeds: int, *, holds: bool) -> str:
    over = "1 seed" if seeds == 1 else f"{seeds} seeds"
    every = "every" if holds else "not every"
    return (
        f"Too few seeds: nothing is decided over {over}; {every} sentence agrees with the numbers "
        "so far. Five tell more."
    )


def signs(result: Reproduction, laws: str) -> str:
    """What its signs mean, a line each."""
    return "\n".join(f"{one.sign}: {one.words}." for one in legend(result, laws))


def make(out: Path) -> None:
    """The directory for files; DocumentError where it can't be."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"can't be made: {error.strerror}"
        raise DocumentError([Problem("out", str(out), message)]) from None


def write(path: Path, written: str) -> None:
    """One file; DocumentError where it can't be written."""
    try:
        path.write_text(written, "utf-8")
    except OSError as error:
        message = f"can't be written: {error.strerror}"
        raise DocumentError([Problem("out", str(path), message)]) from None
