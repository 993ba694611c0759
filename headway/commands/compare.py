"""``headway compare``: two finished runs side by side, as a description."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "compare"
HELP = "describe two finished runs of the same load side by side, without a verdict"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Two directories, and how to print them."""
    parser.add_argument("a", type=Path, metavar="RUN", help="directory of a run")
    parser.add_argument("b", type=Path, metavar="RUN", help="directory of another")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")


def run(args: argparse.Namespace) -> int:
    """0 described, 13 not asked the same, 20 no such run."""
    from headway.comparing.describing import describe_in_shell

    return describe_in_shell(args)
