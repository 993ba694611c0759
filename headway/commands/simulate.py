"""``headway simulate``: a load test against a profile of the engine model, in virtual time."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "simulate"
HELP = "play a scenario or a trace through the engine model, in virtual time"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Through what, what, how much, judged by what, and where the files go."""
    from headway.running.arguments import seconds, timeout

    add = parser.add_argument
    add("--profile", metavar="NAME|FILE", help="what to stand in for; see `headway profiles list`")
    add("--style", choices=("continuous", "prefill_first", "reserve_max", "slots"))
    add("--policy", metavar="NAME|FILE", help="built-in policy, bare law, or a policy document")
    add("--policy-set", action="append", default=[], metavar="PATH=VALUE")
    add("--workload", metavar="NAME|FILE", help="chat (default), fixed-64, … or a document")
    add("--prompt-tokens", type=int, metavar="N", help="every prompt this long")
    add("--max-tokens", type=int, metavar="N", help="every answer this long")
    add("--arrivals", metavar="PROCESS", help="poisson (default), constant or closed")
    add(
        "--arrivals-set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the process, such as burstiness=0.5",
    )
    add("--rate", type=float, help="requests per second of an open loop")
    add("--concurrency", type=int, help="slots of a closed loop")
    add("--think", type=seconds, metavar="DURATION", help="pause of a slot after each answer")
    add("--trace", type=Path, metavar="FILE", help="a recorded trace instead of both")
    add("--trace-speed", type=float, default=1.0, metavar="X", help="replay it X times as fast")
    add("--duration", type=seconds, help="60s (default; a trace: all of it), 5m, 1h")
    add("--warm-up", type=seconds, metavar="DURATION", help="cut off the start of the report")
    add("--drain", type=seconds, metavar="DURATION", help="wait for answers at the end (30s)")
    add(
        "--timeout",
        type=timeout,
        action="append",
        default=[],
        metavar="NAME=DURATION",
        help="first_token or total (connect and idle can't happen here)",
    )
    add("--slo", metavar="NAME|FILE", help="chat-interactive, batch, or an SLO document")
    add("--seed", type=int, help="fixes the whole schedule (1)")
    add("--scenario", type=Path, metavar="FILE", help="a scenario document; options win over it")
    add("--out", type=Path, metavar="DIR", help="write a run's files there")
    add("--force", action="store_true", help="write over an earlier run in --out")
    add("--json", action="store_true", help="print summary.json instead of the table")
    add("--speed-report", action="store_true", help="say how many times real time it ran")


def run(args: argparse.Namespace) -> int:
    """Do it; exit codes are those of ``headway run``."""
    from headway.running.simulation import simulate_in_shell

    return simulate_in_shell(args)
