"""``headway capacity`` from its arguments to its exit code."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from documents.problem import DocumentError, Problem
from headway.running.saying import report, tell
from loadtest.printable import printable
from measurement.capacity.batching import Caps
from measurement.capacity.estimate import Estimate
from measurement.capacity.observed import Observed
from measurement.capacity.planning import Plan, Question, Row, plan
from measurement.verdict import EXIT_CODES
from simulator import profile as profiles

SWEEP, SUMMARY = "sweep.json", "summary.json"
WIDTH = 80


def plan_in_shell(args: argparse.Namespace) -> int:
    """Read, plan, print."""
    try:
        ladders, target = _measured(args.measured)
        asked = _question(args, target)
        found = plan(ladders, asked)
    except DocumentError as error:
        for problem in error.problems:
            tell(f"headway capacity: {printable(str(problem))}\n", sys.stderr)
        return EXIT_CODES["bad_configuration"]
    text = json.dumps(found.to_json(), ensure_ascii=False, indent=2) if args.json else _told(found)
    if not report(text + "\n", name="capacity"):
        return EXIT_CODES["infrastructure"]
    return EXIT_CODES["inconclusive" if found.instances.needed is None else "pass"]


def _question(args: argparse.Namespace, target: float | None) -> Question:
    problems = [
        Problem(name, value, "must be above 0")
        for name, value in (
            ("load", args.load),
            ("max-seqs", args.max_seqs),
            ("kv-tokens", args.kv_tokens),
        )
        if value is not None and not 0 < value < float("inf")
    ]
    if args.target is not None and not 0 < args.target < 1:
        problems.append(Problem("target", args.target, "must be a share between 0 and 1"))
    if problems:
        raise DocumentError(problems)
    caps = Caps(args.max_seqs, args.kv_tokens)
    if args.profile:
        known = profiles.load(args.profile)
        room = (known.blocks - 1) * known.block_size
        caps = Caps(args.max_seqs or known.max_seqs, args.kv_tokens or room)
    return Question(args.load, args.target if args.target is not None else target, caps)


def _measured(directories: list[Path]) -> tuple[list[list[Observed]], float | None]:
    """A ladder for each repeat of a sweep; runs make one ladder together."""
    ladders: list[list[Observed]] = []
    runs: list[Observed] = []
    target: float | None = None
    for directory in directories:
        name = SWEEP if (directory / SWEEP).exists() else SUMMARY
        document = _read(directory / name)
        target = target if document.get("target") is None else document["target"]
        try:
            if name == SWEEP:
                ladders += _ladders(document)
            else:
                runs += _of_run(document, directory)
                target = (document.get("slo") or {}).get("target") or target
        except (KeyError, TypeError) as error:
            message = f"is no {name} that this version reads: {error}"
            raise DocumentError([Problem("measured", str(directory), message)]) from None
    return [*ladders, *([runs] if runs else [])], target


def _ladders(document: Mapping[str, Any]) -> Iterator[list[Observed]]:
    for repeat in range(document["repeats"]):
        rungs = [row for row in document["rungs"] if row["repeat"] == repeat]
        found = [Observed.from_json(row["observed"]) for row in rungs if row["observed"]]
        if found:
            yield found


def _of_run(document: Mapping[str, Any], directory: Path) -> list[Observed]:
    if document["verdict"] == "invalid":
        message = "is of a run whose stimulus was invalid: it measured another load than it names"
        raise DocumentError([Problem("measured", str(directory), message)])
    found = Observed.of_summary(document)
    return [found] if found else []


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        message = f"holds neither a readable {SWEEP} nor a {SUMMARY}: {error}"
        raise DocumentError([Problem("measured", str(path.parent), message)]) from None
    if not isinstance(found, Mapping):
        raise DocumentError([Problem("measured", str(path), "must hold an object")])
    return found


def _told(found: Plan) -> str:
    each = found.instances
    count = "Instances: not known" if each.needed is None else f"Instances: {each.needed}"
    if each.low is not None and each.high is not None:
        count += f" ({each.low} to {each.high} over the knee's interval)"
    lines = [f"{count}; {each.because}."]
    if found.headroom is not None and found.knee.load is not None:
        lines.append(_headroom(found.headroom))
    if found.most is not None:
        lines.append(_sentence(found.most))
    wrapped = ["\n".join(textwrap.wrap(line, WIDTH)) for line in lines]
    wrapped += ["", *_table(found), "", "Assumed:"]
    methods = {"instances": each.assumes}
    methods |= {one.method: one.assumes for row in found.rows for one in _estimates(row)}
    for method, what in methods.items():
        wrapped += textwrap.wrap(f"- {method}: {'; '.join(what)}", WIDTH, subsequent_indent="  ")
    return printable("\n".join(wrapped))


def _headroom(share: float) -> str:
    if share >= 0:
        return f"One instance has {100 * share:.0f} % of its knee left at that load."
    return f"That load is {1 - share:.1f} times the knee of one instance."


def _table(found: Plan) -> list[str]:
    """What each method says at each measured load, and how far the measurement is from it."""
    columns = ("in flight, Little", "sequences, balance", "wait ms, P–K")
    rows = [f"{'requests/s':>10}" + "".join(f"{column:>22}" for column in columns)]
    for row in found.rows:
        cells = [_cell(row.in_flight), _cell(row.sequences), _cell(row.wait, 1e3)]
        rows.append(f"{row.point.rate:>10.2f}" + "".join(f"{cell:>22}" for cell in cells))
    return [*rows, "in brackets: how far it is from the measurement"]


def _cell(one: Estimate | None, scale: float = 1.0) -> str:
    if one is None or one.value is None:
        return "–"
    off = "" if one.off is None else f" ({100 * one.off:+.0f} %)"
    return f"{scale * one.value:.3g}{off}"


def _estimates(row: Row) -> list[Estimate]:
    return [one for one in (row.in_flight, row.sequences, row.wait) if one is not None]


def _sentence(one: Estimate) -> str:
    if one.value is None:
        return f"{one.method}: {one.what} unknown, {one.note}."
    measured = "" if one.off is None else f", measured {one.measured:.3g} ({100 * one.off:+.0f} %)"
    note = f" ({one.note})" if one.note else ""
    return f"{one.method}: {one.value:.3g} {one.what}{note}{measured}."
