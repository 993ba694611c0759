"""``headway calibrate``: fit the engine model to a real engine, and say how near it came."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "calibrate"
HELP = "fit a profile to logs of a real engine, or to an endpoint, and test it at another rate"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from headway.running.arguments import seconds

    add = parser.add_argument
    add(
        "--log",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="requests that an engine served, at one rate; repeatable",
    )
    add("--test", type=Path, metavar="FILE", help="a log of another rate, to test on")
    add("--endpoint", metavar="URL", help="measure this one instead: about 3 minutes of load")
    add("--model", help="model name; the endpoint's only one if not given")
    add("--kind", help="engine kind; found by a probe if not given")
    add("--seconds", type=seconds, default=30.0, metavar="DURATION", help="of each rung (30s)")
    add("--start", metavar="NAME|FILE", help="profile to start from, whose memory is kept")
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="blocks=32567, token_budget=2048, max_seqs=128, gpu=…, engine=…; repeatable",
    )
    add("--evaluations", type=int, default=600, help="replays of the logs (600)")
    add("--out", type=Path, default=Path("calibrated.yaml"), metavar="FILE", help="the profile")


def run(args: argparse.Namespace) -> int:
    """Do it; 1 where a light is red."""
    from headway.running.calibration import calibrate_in_shell

    return calibrate_in_shell(args)
