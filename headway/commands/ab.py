"""``headway ab``: two policies asked the same on equal engines, with a verdict as its exit code."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "ab"
HELP = "compare two policies: same requests, equal engines, judged block by block"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which two, where, what load, how many blocks, judged by what, and where the files go."""
    from headway.comparing.arguments import share

    add = parser.add_argument
    add("--a", metavar="NAME|FILE", help="the baseline: built-in policy, bare law, or a document")
    add("--b", metavar="NAME|FILE", help="the candidate")
    for side in ("a", "b"):
        add(
            f"--{side}-set",
            action="append",
            default=[],
            metavar="PATH=VALUE",
            help="concurrency.limit=64",
        )
    add(
        "--where",
        choices=("model", "engines", "endpoints", "switchback"),
        help="engine model (default), two simulated engines, two endpoints, one in turn",
    )
    add("--endpoint", action="append", default=[], metavar="URL", help="twice for endpoints")
    add("--model", help="model name; an endpoint's only one if not given")
    add("--kind", help="engine kind; found by a probe if not given")
    add("--profile", help="engine profile of model and engines; headway engine --list-profiles")
    add("--workload", metavar="NAME|FILE", help="chat (default), fixed-64, … or a document")
    add("--prompt-tokens", type=int, metavar="N", help="every prompt this long")
    add("--max-tokens", type=int, metavar="N", help="every answer this long")
    add("--arrivals", metavar="PROCESS", help="an open loop: poisson (default) or constant")
    add(
        "--arrivals-set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the process, such as burstiness=0.5",
    )
    add("--rate", type=float, help="requests per second of each arm (8)")
    add("--slo", metavar="NAME|FILE", help="what is bad: chat-interactive (default) or a document")
    add("--blocks", type=int, help="planned blocks, at least 33 (40)")
    add("--block-s", type=float, metavar="S", help="seconds of a slot, washout included (15)")
    add("--washout-s", type=float, metavar="S", help="its start that is not counted (a third)")
    add(
        "--margin",
        type=share,
        action="append",
        default=[],
        metavar="CRITERION=SHARE",
        help="attainment=0.01, errors=0.001, ttft_ms_p99=0.005; attainment.harm=0.002",
    )
    add(
        "--base",
        type=share,
        action="append",
        default=[],
        metavar="CRITERION=SHARE",
        help="the baseline's share of bad requests, for the power (0.01)",
    )
    add("--seed", type=int, help="fixes the schedule and every block's draw (1)")
    add("--stages", type=int, help="of a rollout that share what may go wrong (1)")
    add("--out", type=Path, metavar="DIR", help="where the files go (headway-ab-TIME)")
    add("--force", action="store_true", help="write over an earlier comparison in --out")
    add("--json", action="store_true", help="print result.json instead of the table")
    add("--quiet", action="store_true", help="no power and no progress")


def run(args: argparse.Namespace) -> int:
    """Do it; see docs/ab.md for the exit codes."""
    from headway.comparing.shell import compare_in_shell

    return compare_in_shell(args)
