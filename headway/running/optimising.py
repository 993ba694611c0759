"""``headway optimise`` from its arguments to a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from documents.parse import build
from documents.problem import DocumentError, Problem
from documents.yaml_text import parse_yaml
from headway.running.arguments import named
from headway.running.saying import report, tell
from loadtest import builtin
from loadtest.capacity import Found, Search, capacity, grid
from loadtest.workloads.base import workloads
from measurement.slo import Slo
from measurement.verdict import EXIT_CODES
from simulator import profile as profiles

MOST_TRIALS = 64
EXIT_NONE = 1


def optimise_in_shell(args: argparse.Namespace) -> int:
    """Search, and print what was found, best first."""
    try:
        name = args.profile or profiles.DEFAULT
        search = _search(args, profiles.load(name))
        tried = _tried(args.over)
    except DocumentError as error:
        for problem in error.problems:
            tell(f"headway optimise: {problem}\n", sys.stderr)
        return EXIT_CODES["bad_configuration"]
    found = sorted((capacity(search, options) for options in tried), key=lambda one: -one.rate)
    if not report(_table(name, search, found), name="optimise"):
        return EXIT_CODES["infrastructure"]
    return 0 if found[0].rate > 0 else EXIT_NONE


def _search(args: argparse.Namespace, profile: profiles.Profile) -> Search:
    given = dict(named(args.workload, builtin.WORKLOADS, "workload"))
    kind = workloads.get(given.pop("kind", None), path="workload.kind")
    return Search(
        profile,
        build(kind, given, path="workload"),
        Slo.parse(named(args.slo, builtin.SLOS, "slo")),
        duration=args.duration,
        seed=args.seed,
    )


def _tried(over: Sequence[str]) -> list[dict[str, Any]]:
    tried = list(grid(dict(_axis(text) for text in over)))
    if len(tried) > MOST_TRIALS:
        message = f"makes {len(tried)} combinations; at most {MOST_TRIALS}"
        raise DocumentError([Problem("over", list(over), message)])
    return tried


def _axis(text: str) -> tuple[str, Sequence[Any]]:
    """``name=low..high`` doubles from low to high; ``name=a,b,c`` lists."""
    name, equals, values = text.partition("=")
    low, dots, high = values.partition("..")
    if dots:
        ends = [parse_yaml(low), parse_yaml(high)]
        if all(isinstance(end, int) for end in ends) and 0 < ends[0] <= ends[1]:
            rungs = [ends[0]]
            while 2 * rungs[-1] < ends[1]:
                rungs.append(2 * rungs[-1])
            return name, list(dict.fromkeys([*rungs, ends[1]]))
    elif equals and values:
        return name, [parse_yaml(value) for value in values.split(",")]
    raise DocumentError([Problem("over", text, "must be OPTION=LOW..HIGH or OPTION=A,B,C")])


def _table(name: str, search: Search, found: Sequence[Found]) -> str:
    rows = [f"{'requests/s':>10} {'attainment':>11}  options"]
    for one in found:
        options = ", ".join(f"{key}={value}" for key, value in one.options.items())
        why = f"  refused: {one.refused}" if one.refused else ""
        rows.append(
            f"{one.rate:>10.2f} {one.attainment:>11.2%}  {options or 'as the profile'}{why}"
        )
    error = " ".join(search.profile.error.split())
    rows.append(
        f"A model, not a measurement: profile {name}, {search.duration:g} s a trial, one seed, "
        f"rates to within 2 %. Stated error: {error}"
    )
    return "\n".join(rows) + "\n"
