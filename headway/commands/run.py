"""``headway run``: one load test from the shell, with a verdict as its exit code."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "run"
HELP = "run a load test against an endpoint, without a server"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to, what, how much, judged by what, and where the files go."""
    from headway.running.arguments import seconds, timeout, warm_up

    add = parser.add_argument
    add("--endpoint", metavar="URL", help="base URL, with or without /v1")
    add("--model", help="model name; the endpoint's only one if not given")
    add("--kind", help="engine kind; found by a probe if not given")
    add("--policy", metavar="NAME|FILE", help="built-in policy, bare law, or a policy document")
    add(
        "--policy-set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="concurrency.limit=64",
    )
    add("--shadow", metavar="NAME|FILE", help="a second policy beside it: recorded, never obeyed")
    add("--workload", metavar="NAME|FILE", help="chat (default), fixed-64, … or a document")
    add("--prompt-tokens", type=int, metavar="N", help="every prompt this long")
    add("--max-tokens", type=int, metavar="N", help="every answer this long")
    add("--arrivals", metavar="PROCESS", help="poisson (default), constant, ramp, closed, …")
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
    add("--duration", type=seconds, help="60s (default), 5m, 1h")
    add("--warm-up", type=warm_up, metavar="DURATION|auto", help="cut off the start of the report")
    add("--drain", type=seconds, metavar="DURATION", help="wait for answers at the end (30s)")
    add(
        "--timeout",
        type=timeout,
        action="append",
        default=[],
        metavar="NAME=DURATION",
        help="connect, first_token, idle or total",
    )
    add("--slo", metavar="NAME|FILE", help="chat-interactive, batch, or an SLO document")
    add("--seed", type=int, help="fixes the whole schedule (1)")
    add(
        "--prompt-salt",
        metavar="TEXT",
        help="fixes the prompts' words; new ones each run if not given",
    )
    add(
        "--scenario",
        type=Path,
        metavar="FILE",
        help="a whole scenario document; options win over it",
    )
    _add_file_arguments(parser)
    _add_process_arguments(parser)
    add("--json", action="store_true", help="print summary.json instead of the table")
    add("--quiet", action="store_true", help="no progress")


def _add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """What stays of the run."""
    add = parser.add_argument
    add("--out", type=Path, metavar="DIR", help="where the files go (headway-run-TIME)")
    add("--samples-format", default="jsonl", help="jsonl (default), parquet or both")
    add("--force", action="store_true", help="write over an earlier run in --out")


def _add_process_arguments(parser: argparse.ArgumentParser) -> None:
    """How this machine carries the load; no number of a right run depends on it."""
    add = parser.add_argument
    add("--transport", help="auto (default), kernel, protocol or aiohttp")
    add("--proxy", metavar="URL", help="http://host:port, by which every request goes")
    add("--workers", type=int, default=1, metavar="N", help="processes that share the load (1)")


def run(args: argparse.Namespace) -> int:
    """Do it; see docs/running.md for the exit codes."""
    from headway.running.shell import run_in_shell

    return run_in_shell(args)
