"""``headway verify``: hold a method of measurement to its own bars, by simulation."""

from __future__ import annotations

import argparse

NAME = "verify"
HELP = "hold the comparison of policies, or intervals, to their bars, by simulation"

SEED = 20_260


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to verify, and how thoroughly."""
    parser.add_argument("what", choices=("comparison", "intervals"), help="the method to verify")
    parser.add_argument("--full", action="store_true", help="the whole grid")
    parser.add_argument("--runs", type=int, help="runs a cell; few make the bounds too wide")
    parser.add_argument("--cells", action="store_true", help="print every cell, not the worst ones")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the simulation ({SEED})")


def run(args: argparse.Namespace) -> int:
    """Print the table; 1 where a bar is missed."""
    from headway.verifying import comparison, intervals

    verify = comparison.verify if args.what == "comparison" else intervals.verify
    return verify(args)
