"""``headway reproduce``: the five source systems' own experiments, with what they claim."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadtest.reproduce.plan import Plan
    from loadtest.reproduce.systems.base import System

NAME = "reproduce"
HELP = "play a source system's own experiment: claimed, reference, corrected, best fixed, optimum"

EXIT_NOT_HELD = 1
EXIT_BAD_CONFIGURATION = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", help="a system's name, or all; see docs")
    parser.add_argument("--seeds", type=int, default=5, help="runs of everything (default 5)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="also write SYSTEM.json there")
    parser.add_argument(
        "--reduced", action="store_true", help="shorter runs of the same shape: seconds"
    )
    parser.add_argument(
        "--check", action="store_true", help="exit 1 where the numbers don't support a sentence"
    )


def run(args: argparse.Namespace) -> int:
    from documents.problem import DocumentError
    from loadtest.reproduce.plan import Plan
    from loadtest.reproduce.systems.base import systems

    try:
        plan = Plan(_seeds(args.seeds), reduced=args.reduced)
        known = systems.all()
        if args.system != "all":
            known = {args.system: systems.get(args.system, path="system")}
        if args.out is not None:
            _make(args.out)
        held = [_play(one(), plan, args.out) for one in known.values()]
    except DocumentError as error:
        for problem in error.problems:
            print(f"headway reproduce: {problem}", file=sys.stderr)
        return EXIT_BAD_CONFIGURATION
    return EXIT_NOT_HELD if args.check and not all(held) else 0


def _seeds(count: int) -> range:
    from documents.problem import DocumentError, Problem
    from loadtest.reproduce.document import MOST_SEEDS, seeds_of

    if not 1 <= count <= MOST_SEEDS:
        raise DocumentError([Problem("seeds", count, f"must be from 1 to {MOST_SEEDS}")])
    return seeds_of(count)


def _make(out: Path) -> None:
    from documents.problem import DocumentError, Problem

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"can't be made: {error.strerror}"
        raise DocumentError([Problem("out", str(out), message)]) from None


def _play(one: System, plan: Plan, out: Path | None) -> bool:
    """Print one system; whether all its sentences hold."""
    from loadtest.reproduce.document import document_of
    from loadtest.reproduce.rendering import text

    result = one.play(plan)
    print(f"## {one.name}\n\n{one.summary}.\n{one.laws}.\n\n{text(result)}\n", flush=True)
    if out is not None:
        document = document_of(one.name, plan, result)
        written = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        (out / f"{one.name}.json").write_text(written + "\n", "utf-8")
    return result.holds
