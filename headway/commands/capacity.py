"""``headway capacity``: instances needed for a load, from a sweep or from finished runs."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "capacity"
HELP = "say how much load an endpoint carries, and how many instances a load needs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What was measured, and what is planned for."""
    add = parser.add_argument
    add("measured", nargs="+", type=Path, metavar="DIR", help="a sweep's directory, or runs'")
    add("--load", type=float, required=True, metavar="RATE", help="requests/s to plan for")
    add("--target", type=float, metavar="SHARE", help="attainment asked for (the sweep's SLO)")
    add("--max-seqs", type=int, metavar="N", help="the engine's limit on sequences")
    add("--kv-tokens", type=int, metavar="N", help="tokens that its KV cache holds")
    add("--profile", metavar="NAME|FILE", help="take both limits from this profile")
    add("--json", action="store_true", help="print JSON instead of the report")


def run(args: argparse.Namespace) -> int:
    """Print the plan; 12 where nothing measured bounds an instance."""
    from headway.sweeping.planning import plan_in_shell

    return plan_in_shell(args)
