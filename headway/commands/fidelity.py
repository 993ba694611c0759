"""``headway fidelity``: how near the engine model is to what was measured, and to theory."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.fidelity.check import Check

NAME = "fidelity"
HELP = "hold the engine model against published measurements and theory"

EXIT_BAR_MISSED = 1
EXIT_BAD_CONFIGURATION = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--traces", type=Path, metavar="DIR", help="folder with the public traces; more checks"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 where a bar is missed")


def run(args: argparse.Namespace) -> int:
    from documents.problem import DocumentError

    missed = 0
    try:
        print(f"{'error':>8} {'bar':>8}  what")
        for check in _checks(args.traces):
            missed += not check.met
            mark = "" if check.met else "MISSED  "
            more = f" ({check.more})" if check.more else ""
            cells = (_share(check.error), _share(check.bar))
            print(f"{cells[0]:>8} {cells[1]:>8}  {mark}{check.name}, against {check.against}{more}")
    except DocumentError as error:
        for problem in error.problems:
            print(f"headway fidelity: {problem}", file=sys.stderr)
        return EXIT_BAD_CONFIGURATION
    return EXIT_BAR_MISSED if args.check and missed else 0


def _checks(traces: Path | None) -> Iterator[Check]:
    from simulator.fidelity import queues, sweeps

    yield from sweeps.tpot_checks()
    yield from sweeps.knee_checks()
    yield from queues.queue_checks()
    if traces is not None:
        from loadtest.traces import fidelity

        yield from fidelity.log_checks(traces)
        yield from fidelity.series_checks(traces)
        yield fidelity.prefix_check(traces)


def _share(value: float) -> str:
    return f"{value:.0f}" if value >= 1 or value == 0 else f"{value:.2%}"
