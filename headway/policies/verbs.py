"""lint, show, schema, diff and render: each prints, and returns its exit code."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

from documents.problem import DocumentError
from documents.yaml_text import to_yaml
from headway.policies.reading import read, remarks

if TYPE_CHECKING:
    from engines.rendering.base import Unsaid

DIFFERENT = 1
BAD = 20


def lint(args: argparse.Namespace) -> int:
    """Every file, with every fault and remark."""
    worst = 0
    for where in args.policy:
        try:
            policy = read(where)
        except DocumentError as error:
            worst = BAD
            for problem in error.problems:
                print(f"{where}: {problem}", file=sys.stderr)
            continue
        print(f"{where}: valid, {policy.name} {policy.sha256[:12]}")
        for remark in remarks(policy):
            print(f"{where}: note: {remark}")
    return worst


def show(args: argparse.Namespace) -> int:
    """The document with every parameter written out, and who enforces what."""
    from schedulers.enforcement import Host, enforcement

    policy = read(args.policy)
    if args.json:
        print(json.dumps(policy.to_document(), indent=2, ensure_ascii=False))
        return 0
    print(to_yaml(policy.to_document()), end="")
    print(f"# sha256 {policy.sha256}")
    for point in policy.laws:
        said = [f"{_words(h)}: {_words(enforcement(point, h).mode)}" for h in Host]
        print(f"# {point}: {', '.join(said)}")
    return 0


def schema(args: argparse.Namespace) -> int:  # noqa: ARG001
    """JSON Schema 2020-12 of a policy document."""
    from schedulers.schema import schema as made

    print(json.dumps(made(), indent=2, ensure_ascii=False))
    return 0


def diff(args: argparse.Namespace) -> int:
    """Parameter by parameter, and where a difference can show."""
    from schedulers.difference import differences, shows

    before, after = read(args.before), read(args.after)
    found = differences(before, after)
    for one in found:
        print(f"{one.path}: {_value(one.before)} → {_value(one.after)}")
    for cell in shows(found):
        if not cell.acts:
            print(f"# {cell.point} doesn't act in the {_words(cell.host)}: {cell.why}")
    return DIFFERENT if found else 0


def render(args: argparse.Namespace) -> int:
    """The engine's own words for it, and what it has none for."""
    from engines.rendering.base import render as rendered

    it = rendered(read(args.policy), args.engine)
    flags = [
        f"{name} {shlex.quote(str(value))}" if value is not True else name
        for name, value in it.flags
    ]
    if flags:
        print(" \\\n  ".join(flags))
    if it.config:
        print(to_yaml(dict(it.config)), end="")
    for note in it.notes:
        print(f"# note: {note}")
    for line in _lacking(it.unsaid):
        print(f"# not expressed: {line}")
    for source in it.sources:
        print(f"# source: {source}")
    if args.strict and it.unsaid:
        print(f"headway policy: {len(it.unsaid)} things are not expressed", file=sys.stderr)
        return DIFFERENT
    return 0


def _lacking(unsaid: tuple[Unsaid, ...]) -> list[str]:
    """One line for all things of a law that are not expressed for one reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for lack in unsaid:
        point, _, name = lack.path.partition(".")
        found.setdefault((point, lack.why), []).append(f"{name} {_value(lack.value)}")
    return [f"{point}: {', '.join(names)}. {why}" for (point, why), names in found.items()]


def _value(value: Any) -> str:
    return "–" if value is None else json.dumps(value, ensure_ascii=False)


def _words(name: str) -> str:
    return name.replace("_", " ")
