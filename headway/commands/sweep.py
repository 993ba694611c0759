"""``headway sweep``: a ladder of loads against one endpoint or the engine model; the knee."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "sweep"
HELP = "raise the load step by step, find the knee, and say where to run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to, which loads, how often, with what."""
    from headway.running.arguments import seconds, timeout, warm_up

    add = parser.add_argument
    add("--endpoint", metavar="URL", help="base URL, with or without /v1")
    add("--profile", metavar="NAME|FILE", help="sweep the engine model of this profile instead")
    add("--from", dest="lowest", type=float, required=True, metavar="RATE", help="lowest load, 1/s")
    add("--to", dest="highest", type=float, required=True, metavar="RATE", help="highest load, 1/s")
    add("--steps", type=int, default=6, help="loads from the lowest to the highest (6)")
    add("--repeats", type=int, default=3, help="whole ladders (3)")
    add("--duration", type=seconds, default=60.0, help="of each load (60s)")
    add("--warm-up", type=warm_up, default="auto", metavar="DURATION|auto", help="auto (default)")
    add("--drain", type=seconds, metavar="DURATION", help="wait for answers after each load (30s)")
    add("--model", help="model name; the endpoint's only one if not given")
    add("--kind", help="engine kind; found by a probe if not given")
    add("--policy", metavar="NAME|FILE", help="built-in policy, bare law, or a policy document")
    add("--policy-set", action="append", default=[], metavar="PATH=VALUE", help="of the policy")
    add("--workload", metavar="NAME|FILE", help="chat (default), fixed-64, … or a document")
    add("--prompt-tokens", type=int, metavar="N", help="every prompt this long")
    add("--max-tokens", type=int, metavar="N", help="every answer this long")
    add("--arrivals", choices=("poisson", "constant"), help="poisson (default) or constant")
    add("--slo", metavar="NAME|FILE", help="chat-interactive, batch, or an SLO document")
    add("--seed", type=int, help="of the first ladder; each repeat takes the next (1)")
    add(
        "--timeout",
        type=timeout,
        action="append",
        default=[],
        metavar="NAME=DURATION",
        help="connect, first_token, idle or total",
    )
    add("--out", type=Path, metavar="DIR", help="where the files go (headway-sweep-TIME)")
    add("--json", action="store_true", help="print sweep.json instead of the table")
    add("--quiet", action="store_true", help="no progress")


def run(args: argparse.Namespace) -> int:
    """Do it; see docs/running.md for the exit codes."""
    from headway.sweeping.shell import sweep_in_shell

    return sweep_in_shell(args)
