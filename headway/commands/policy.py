"""``headway policy``: check, read, compare and render policy documents."""

from __future__ import annotations

import argparse
import sys

NAME = "policy"
HELP = "check, show, compare policies, or write one as an engine's own flags"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One verb each; a policy is a file, - or the name of a built-in one."""
    verbs = parser.add_subparsers(title="verbs", dest="verb", required=True, metavar="")
    lint = verbs.add_parser("lint", help="check documents; exit 20 where one is refused")
    lint.add_argument("policy", nargs="+", metavar="POLICY")
    show = verbs.add_parser("show", help="every parameter written out, and who enforces what")
    show.add_argument("policy", metavar="POLICY")
    show.add_argument("--json", action="store_true", help="the document alone, as JSON")
    verbs.add_parser("schema", help="the JSON Schema of a policy document")
    diff = verbs.add_parser("diff", help="parameter by parameter; exit 1 where they differ")
    diff.add_argument("before", metavar="POLICY")
    diff.add_argument("after", metavar="POLICY")
    render = verbs.add_parser("render", help="an engine's own flags or file for it")
    render.add_argument("policy", metavar="POLICY")
    render.add_argument("--engine", required=True, help="vllm, sglang, llamacpp or trtllm")
    render.add_argument(
        "--strict", action="store_true", help="exit 1 where something can't be expressed"
    )


def run(args: argparse.Namespace) -> int:
    from documents.problem import DocumentError
    from headway.policies import verbs

    try:
        return int(getattr(verbs, args.verb)(args))
    except DocumentError as error:
        for problem in error.problems:
            print(f"headway policy: {problem}", file=sys.stderr)
        return verbs.BAD
