"""``headway optimise``: engine options that serve the highest rate within an SLO, by the model."""

from __future__ import annotations

import argparse

NAME = "optimise"
HELP = "search engine options for the highest rate that the model serves within an SLO"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from headway.running.arguments import seconds

    add = parser.add_argument
    add("--profile", metavar="NAME|FILE", help="what stands in for the engine")
    add("--workload", default="chat", metavar="NAME|FILE", help="chat (default), … or a document")
    add("--slo", default="chat-interactive", metavar="NAME|FILE", help="an SLO document")
    add(
        "--over",
        action="append",
        default=[],
        metavar="OPTION=LOW..HIGH",
        help="batching.token_budget=1024..16384 (doubling) or =1024,3000; repeatable",
    )
    add("--duration", type=seconds, default=120.0, help="of load in each trial (120s)")
    add("--seed", type=int, default=1)


def run(args: argparse.Namespace) -> int:
    """Do it; 0 where some rate was found."""
    from headway.running.optimising import optimise_in_shell

    return optimise_in_shell(args)
