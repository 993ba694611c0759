"""``headway reproduce queueing --config FILE.json``: lint, convert, play."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from documents.problem import DocumentError, Problem
from documents.yaml_text import to_yaml
from headway.reproducing.printing import Title, show, write
from loadtest.reproduce.configuration.contradictions import Kind, Remark, remarks
from loadtest.reproduce.configuration.conversion import Converted, convert
from loadtest.reproduce.configuration.playing import LAWS, play
from loadtest.reproduce.configuration.sections import read
from loadtest.reproduce.plan import Plan
from simulator import profile as profiles

SYSTEM = "queueing"


def configured(args: argparse.Namespace, plan: Plan) -> bool:
    """Whether the file contradicts itself nowhere, and what was played supports what is said."""
    if args.system != SYSTEM:
        message = f"only {SYSTEM} has a configuration of its own that is read"
        raise DocumentError([Problem("system", args.system, message)])
    given = read(_text(args.config))
    found = remarks(given)
    # A converted document goes to stdout alone, so that it can be piped.
    stream = sys.stderr if args.convert else sys.stdout
    for remark in found:
        print(f"- {remark}", file=stream)
    converted = convert(given)
    sound = not any(remark.kind is Kind.CONTRADICTION for remark in found)
    if args.convert:
        _print(converted, args.out)
        return sound
    name = args.profile or profiles.DEFAULT
    result = play(given, converted, profiles.load(name), plan)
    summary = f"{args.config.name} on the engine model (`{name}`); {_counted(found)}"
    title = Title(f"{SYSTEM}-configuration", summary, LAWS)
    print(flush=True)
    said = [remark.to_json() for remark in found]
    return show(title, result, plan, args.out, profile=name, remarks=said) and sound


def _counted(found: list[Remark]) -> str:
    count = sum(remark.kind is Kind.CONTRADICTION for remark in found)
    return f"{count} contradictions in it" if count != 1 else "1 contradiction in it"


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise DocumentError([Problem("config", str(path), f"{error.strerror}")]) from None
    except UnicodeDecodeError:
        raise DocumentError([Problem("config", str(path), "is not UTF-8 text")]) from None


def _print(converted: Converted, out: Path | None) -> None:
    """The documents one after the other; with a directory, each as a file of its own."""
    parts = []
    for document in converted.documents():
        kind = str(document.get("kind", "Scenario")).lower()
        text = to_yaml(document)
        if out is not None:
            write(out / f"{kind}.yaml", text)
        parts.append(text)
    if converted.engine:
        flags = "".join(f"# {name}: {value}\n" for name, value in converted.engine.items())
        parts[-1] += f"# The engine's own, for its command line:\n{flags}"
    print("---\n".join(parts), end="")
