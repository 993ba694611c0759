"""``headway gate``: run a stored gate on a server and end with its verdict, as CI calls it."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "gate"
HELP = "run a gate of a Headway server and end with its verdict"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``run`` and ``list``; the token comes from the environment variable HEADWAY_TOKEN."""
    from headway.running.arguments import seconds

    actions = parser.add_subparsers(title="actions", metavar="", dest="action", required=True)
    run = actions.add_parser("run", help="run a gate and wait for its verdict")
    add = run.add_argument
    add("slug", metavar="SLUG", help="the gate, as `headway gate list` calls it")
    add("--server", metavar="URL", required=True, help="such as https://headway.example.org")
    add("--policy", metavar="SLUG@N", help="another policy, where the gate allows it")
    add("--endpoint", metavar="SLUG", help="another endpoint, where the gate allows it")
    add("--timeout", type=seconds, default=1800.0, metavar="DURATION", help="30m (default), 2h")
    add("--junit", type=Path, metavar="FILE", help="write JUnit XML")
    add("--json", type=Path, metavar="FILE", help="write the whole result as JSON")
    add("--markdown", type=Path, metavar="FILE", help="write a summary under 60 kB")
    add("--quiet", action="store_true", help="no progress")
    listing = actions.add_parser("list", help="the gates of the token's team")
    listing.add_argument("--server", metavar="URL", required=True)


def run(args: argparse.Namespace) -> int:
    """Do it; see docs/gates.md for the exit codes."""
    from headway.gating.shell import list_gates, run_gate

    return list_gates(args) if args.action == "list" else run_gate(args)
