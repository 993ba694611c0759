"""``headway compare``: two finished runs side by side, as description."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "compare"
HELP = "put two finished runs side by side, and say what can't be concluded"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The directories of two runs."""
    parser.add_argument("a", type=Path, metavar="RUN", help="directory of the run that A is")
    parser.add_argument("b", type=Path, metavar="RUN", help="directory of the run that B is")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument(
        "--seed", type=int, default=1, help="of the bootstrap behind ratios (default 1)"
    )


def run(args: argparse.Namespace) -> int:
    """0 when they could be put side by side; 20 where their stimulus was not equal."""
    from headway.comparing.shell import compare_in_shell

    return compare_in_shell(args)
