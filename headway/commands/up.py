"""`headway up`: everything on one machine, open on a running load test."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

NAME = "up"
HELP = "start everything on this machine, with demo data and a first load test"

INFRASTRUCTURE = 30
"""Exit code when something that we need is not to be had."""
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where it listens, where it keeps its data, and which real engine stands beside."""
    parser.add_argument("--port", type=int, default=8000, help="port of the pages (8000)")
    parser.add_argument(
        "--bind", default="127.0.0.1", help="address to listen on (127.0.0.1: this machine alone)"
    )
    parser.add_argument(
        "--data-dir", type=Path, default=Path("var"), help="database, run files, logs (./var)"
    )
    parser.add_argument(
        "--engine",
        choices=("simulated", "llamacpp"),
        default="simulated",
        help="llamacpp: a small real model on CPU beside the simulated engine",
    )
    parser.add_argument(
        "--no-traffic",
        action="store_true",
        help="leave the demo gateway without its trickle of requests (4 a second)",
    )


def run(args: argparse.Namespace) -> int:
    """Start, tell the address, stay until a signal, end every process that was started."""
    from headway.embedded import plan
    from headway.embedded.data_dir import CannotStart, held

    root = plan.repository()
    if root is None:
        return _refuse("the server runs from the repository; clone it and call `make up`")
    try:
        from headway.embedded.household import Wish, keep_house
    except ModuleNotFoundError as error:
        return _refuse(f"{error.name} is not installed; `make up` installs what the server needs")
    for number in SIGNALS:
        signal.signal(number, _stop)
    data_dir = args.data_dir.resolve()
    wish = Wish(
        args.bind, args.port, llamacpp=args.engine == "llamacpp", traffic=not args.no_traffic
    )
    # A unix socket's path may be no longer than about 100 bytes, and a data directory's may.
    scratch = Path(tempfile.mkdtemp(prefix="headway-"))
    os.chdir(root)
    try:
        with held(data_dir):
            keep_house(wish, data_dir=data_dir, scratch=scratch)
    except Stopped:
        return 0
    except CannotStart as error:
        return _refuse(str(error))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class Stopped(BaseException):
    """A signal asked us to end; not an Exception, so that no broad catch keeps us alive."""


def _stop(_number: int, _frame: FrameType | None) -> None:
    # A second signal changes nothing: what was started must still be ended.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise Stopped


def _refuse(why: str) -> int:
    print(f"headway up: {why}", file=sys.stderr)
    return INFRASTRUCTURE
