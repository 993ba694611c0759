"""``headway reproduce``: the five source systems' own experiments, with what they claim."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

NAME = "reproduce"
HELP = "play a source system's own experiment: claimed, reference, corrected, best fixed, optimum"

EXIT_NOT_HELD = 1
EXIT_BAD_CONFIGURATION = 20
MOST_JOBS = 256


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", help="a system's name, or all; see docs")
    parser.add_argument("--seeds", type=int, default=5, help="runs of everything (default 5)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="also write SYSTEM.json there")
    parser.add_argument(
        "--reduced", action="store_true", help="shorter runs of the same shape: seconds"
    )
    parser.add_argument(
        "--scale",
        type=float,
        metavar="N",
        help="batching: play an hour of its day as an Nth of one (60); 1 plays the whole day",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="runs at a time, each in a process (one a core); the numbers are the same with any",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="with --out: keep each run that is over in SYSTEM.runs.jsonl, and take those it has",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit 1 where the numbers don't support a sentence, or a --config contradicts itself",
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE.json",
        help="queueing: lint a configuration of the source's own, convert it and play it",
    )
    parser.add_argument(
        "--convert", action="store_true", help="with --config: print the documents, play nothing"
    )
    parser.add_argument(
        "--profile", metavar="NAME|FILE", help="with --config: the engine (qwen3-32b-h100-tp2)"
    )
    parser.add_argument(
        "--served",
        action="store_true",
        help="over HTTP: a load test against the served engine model, as far as one can enforce it",
    )


def run(args: argparse.Namespace) -> int:
    from documents.problem import DocumentError

    try:
        held = _played(args)
    except DocumentError as error:
        for problem in error.problems:
            print(f"headway reproduce: {problem}", file=sys.stderr)
        return EXIT_BAD_CONFIGURATION
    return EXIT_NOT_HELD if args.check and not held else 0


def _played(args: argparse.Namespace) -> bool:
    """Whether all that was said is supported."""
    from headway.reproducing.configuration import configured
    from headway.reproducing.playing import How, play
    from headway.reproducing.printing import Title, make, show
    from loadtest.reproduce.plan import Plan, check_scale
    from loadtest.reproduce.systems.base import systems

    _check_together(args)
    plan = Plan(_seeds(args.seeds), reduced=args.reduced, scale=args.scale)
    if args.out is not None:
        make(args.out)
    known = systems.all()
    if args.system != "all":
        known = {args.system: systems.get(args.system, path="system")}
    check_scale(
        plan.scale,
        has_day=any(one.has_day for one in known.values()),
        reduced=plan.reduced,
        plays_day=not (args.config or args.served),
    )
    if args.config is not None:
        return configured(args, plan)
    if args.served:
        from headway.reproducing.served import served, served_all

        if args.system == "all":
            return served_all((one() for one in known.values()), plan, args.out)
        return served(known[args.system](), plan, args.out)
    how = How(_jobs(args.jobs), args.out if args.resume else None)
    held = []
    for one in known.values():
        result = play(one.name, one.passes[plan.reduced], one(), plan, how)
        held.append(show(Title(one.name, one.summary, one.laws), result, plan, args.out))
    return all(held)


def _check_together(args: argparse.Namespace) -> None:
    from documents.problem import DocumentError, Problem

    if args.jobs is not None and (args.config or args.served):
        message = "goes with neither --config nor --served, which make one run after the other"
        raise DocumentError([Problem("jobs", args.jobs, message)])
    if args.resume and (args.out is None or args.config or args.served):
        message = "goes with --out DIR, and with neither --config nor --served"
        raise DocumentError([Problem("resume", "", message)])
    if args.config and args.served:
        message = "is played in virtual time; leave out --served"
        raise DocumentError([Problem("config", str(args.config), message)])
    alone = [name for name in ("convert", "profile") if getattr(args, name) and not args.config]
    if alone:
        message = "goes with --config FILE.json only"
        raise DocumentError([Problem(name, getattr(args, name), message) for name in alone])


def _jobs(asked: int | None) -> int:
    from documents.problem import DocumentError, Problem
    from loadtest.reproduce.processes import cores

    if asked is not None and not 1 <= asked <= MOST_JOBS:
        raise DocumentError([Problem("jobs", asked, f"must be from 1 to {MOST_JOBS}")])
    return cores() if asked is None else asked


def _seeds(count: int) -> range:
    from documents.problem import DocumentError, Problem
    from loadtest.reproduce.document import MOST_SEEDS, seeds_of

    if not 1 <= count <= MOST_SEEDS:
        raise DocumentError([Problem("seeds", count, f"must be from 1 to {MOST_SEEDS}")])
    return seeds_of(count)
