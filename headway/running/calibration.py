"""``headway calibrate`` from its arguments to a profile."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from documents.parse import build
from documents.problem import DocumentError, Problem
from documents.yaml_text import parse_yaml
from engines.egress import EgressDenied, EgressRules
from headway.running.progress import Progress
from headway.running.saying import report, tell
from headway.running.shell import NoModel, complete
from loadtest.calibration.calibrate import WEAK, Calibration, calibrate, document
from loadtest.calibration.fitting import Log
from loadtest.calibration.ladder import Aim, Ladder, climb
from loadtest.eventloop import run_fast
from loadtest.traces.base import read_trace
from measurement.verdict import EXIT_CODES
from simulator import profile as profiles

EXIT_RED = 1


def calibrate_in_shell(args: argparse.Namespace) -> int:
    """Fit, test, tell, and write the profile."""
    try:
        start = _start(args)
        logs, test = _logs(args)
        _fits(start, [*logs, *([test] if test else [])])
        found = calibrate(start, logs, test, evaluations=args.evaluations)
        args.out.write_text(document(found.profile), "utf-8")
    except EgressDenied as error:
        return _refuse("target_not_allowed", error.problems)
    except DocumentError as error:
        return _refuse("bad_configuration", error.problems)
    except (NoModel, OSError) as error:
        return _refuse("infrastructure", [error])
    written = f"profile written to {args.out}"
    report(f"{table(found)}{written}\n", name="calibrate", kept=written)
    return EXIT_RED if found.light == "red" else 0


def table(found: Calibration) -> str:
    """Each statistic before and after, with its light, and what is not known."""
    rows = [f"{'':12}{'measured':>12}{'start':>9}{'fitted':>9}  light"]
    for before, after in zip(found.before, found.after, strict=True):
        name = f"{after.metric} {after.statistic}"
        real = f"{1e3 * after.real:,.1f} ms"
        rows.append(f"{name:12}{real:>12}{before.share:>9.1%}{after.share:>9.1%}  {after.light}")
    rows.append("green: within 5 %, amber: within 15 % of what was measured")
    if found.unidentified:
        rows.append(f"not told by the logs: {', '.join(found.unidentified)}")
    if found.weak:
        rows.append(WEAK)
    return "\n".join(rows) + "\n"


def _start(args: argparse.Namespace) -> profiles.Profile:
    """The profile to start from, with what the command line says of the engine."""
    start = profiles.load(args.start or profiles.DEFAULT)
    fields: dict[str, Any] = dataclasses.asdict(start)
    for item in args.set:
        name, equals, value = item.partition("=")
        if not equals:
            raise DocumentError([Problem("set", item, "must be NAME=VALUE")])
        fields[name] = parse_yaml(value)
    made = build(profiles.Profile, fields, path="start")
    made.config()
    if args.evaluations < 1:
        raise DocumentError([Problem("evaluations", args.evaluations, "must be at least 1")])
    return made


def _logs(args: argparse.Namespace) -> tuple[list[Log], Log | None]:
    if bool(args.log) == bool(args.endpoint):
        raise DocumentError([Problem("log", None, "give either --log FILE or --endpoint URL")])
    if args.endpoint:
        return _measured(args)
    logs = [_read(path) for path in args.log]
    return logs, None if args.test is None else _read(args.test)


def _read(path: Path) -> Log:
    return Log.whole(path.name, read_trace(path))


def _measured(args: argparse.Namespace) -> tuple[list[Log], Log]:
    rules, key = EgressRules.open(), os.environ.get("HEADWAY_API_KEY", "")
    asked = {"base_url": args.endpoint, "model": args.model, "kind": args.kind}
    ladder = Ladder(seconds=args.seconds)
    given = ladder.scenario({"base_url": args.endpoint, "model": "?"}, 1).to_document()
    given["endpoint"] = {name: value for name, value in asked.items() if value}

    async def measure() -> tuple[list[Log], Log]:
        endpoint = (await complete(given, rules, key))["endpoint"]
        out = args.out.with_name(f"{args.out.stem}-measured")
        return await climb(ladder, Aim(endpoint, rules, key), out, Progress())

    return run_fast(measure())


def _fits(start: profiles.Profile, logs: Sequence[Log]) -> None:
    """A log may hold nothing that the start's engine could not have served."""
    longest = max(each.prompt_tokens + each.output_tokens for log in logs for each in log.trace)
    if longest > start.max_model_len:
        message = (
            f"the logs hold a request of {longest} tokens; say --set max_model_len=…, and blocks "
            "that hold it"
        )
        raise DocumentError([Problem("start.max_model_len", start.max_model_len, message)])


def _refuse(word: str, problems: Any) -> int:
    for problem in problems:
        tell(f"headway calibrate: {problem}\n", sys.stderr)
    return EXIT_CODES[word]
