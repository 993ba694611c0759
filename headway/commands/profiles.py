"""``headway profiles``: what the engine model can stand for, and how sure we are of it."""

from __future__ import annotations

import argparse
import sys

NAME = "profiles"
HELP = "list the engine model's profiles, or show one with its source and error"

EXIT_BAD_CONFIGURATION = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="list | show", required=True)
    actions.add_parser("list", help="all that ship")
    show = actions.add_parser("show", help="every number of one")
    show.add_argument("profile", metavar="NAME|FILE")


def run(args: argparse.Namespace) -> int:
    from documents.problem import DocumentError

    try:
        return _list() if args.action == "list" else _show(args.profile)
    except DocumentError as error:
        for problem in error.problems:
            print(f"headway profiles: {problem}", file=sys.stderr)
        return EXIT_BAD_CONFIGURATION


def _list() -> int:
    from simulator import profile as profiles

    print(f"{'profile':32} {'mean TPOT error':16} what")
    for name in profiles.names():
        listed = profiles.load(name)
        error = listed.mean_error_percent
        stated = "not checked" if error is None else f"{error:g} %"
        what = f"{listed.model} on {listed.tensor_parallel} × {listed.gpu}, {listed.engine}"
        print(f"{name:32} {stated:16} {what}")
    return 0


def _show(name: str) -> int:
    from documents.fields import describe
    from simulator import profile as profiles

    shown = profiles.load(name)
    for info in describe(profiles.Profile):
        value = getattr(shown, info.attribute)
        text = " ".join(value.split()) if isinstance(value, str) else value
        print(f"{info.name:20} {text if text is not None else '–'} {info.unit}".rstrip())
    return 0
