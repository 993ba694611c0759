"""``headway ab`` from its arguments to its exit code."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from documents.problem import DocumentError, Problem
from engines.egress import EgressDenied, EgressRules
from engines.probe import probe
from headway.comparing.arguments import document
from headway.comparing.progress import Progress
from headway.comparing.report import report
from headway.running import saying
from headway.running.saying import hold_descriptors, tell
from loadtest.ab.draft import draft
from loadtest.ab.execution import BLOCKS, ORDER, RESULT
from loadtest.ab.ground import EngineLost
from loadtest.ab.hosting import Reach, carry_out, loop_of
from loadtest.ab.order import Order
from loadtest.ab.result import Result
from loadtest.ab.worker import KEYS
from loadtest.eventloop import run_fast
from loadtest.printable import printable
from loadtest.tether import stop_on_signals
from measurement.verdict import EXIT_CODES


def compare_in_shell(args: argparse.Namespace) -> int:
    """Compare, print the report, return the exit code."""
    hold_descriptors()
    try:
        order, keys = _order(args)
        out = _directory(args.out, force=args.force)
        result = loop_of(order.where)(_run(order, out, args, keys))
    except EgressDenied as error:
        return _refuse("target_not_allowed", error.problems)
    except DocumentError as error:
        return _refuse("bad_configuration", error.problems)
    except (EngineLost, OSError) as error:
        return _refuse("infrastructure", [error])
    except KeyboardInterrupt:  # the second Ctrl-C: not even the result is waited for
        return _refuse("cancelled", ["stopped before the result was written"])
    text = json.dumps(result.to_json(), ensure_ascii=False, indent=2) + "\n" if args.json else ""
    saying.report(text or report(result), name="ab", kept=f"its files are in {out}")
    if not args.quiet:
        tell(f"files in {out}\n", sys.stderr)
    return result.exit_code


async def _run(order: Order, out: Path, args: argparse.Namespace, keys: list[str]) -> Result:
    stop = asyncio.Event()
    reach = Reach(EgressRules.open(), keys)
    with stop_on_signals(stop):
        return await carry_out(order, out, Progress(quiet=args.quiet), reach=reach, stop=stop)


def _order(args: argparse.Namespace) -> tuple[Order, list[str]]:
    """The order, and the endpoints' keys: one in the environment serves both."""
    given = document(args)
    first = os.environ.get(KEYS[0], "")
    keys = [first, os.environ.get(KEYS[1], first)]
    found = [
        run_fast(_complete(endpoint, key))
        for endpoint, key in zip(given["endpoints"], keys, strict=False)
    ]
    return draft({**given, "endpoints": found}), keys


async def _complete(endpoint: dict[str, Any], key: str) -> dict[str, Any]:
    """Ask the endpoint for its kind and model where the arguments leave them open."""
    if endpoint.get("model") and endpoint.get("kind"):
        return endpoint
    url = endpoint["base_url"]
    found = await probe(
        url, EgressRules.open(), model=endpoint.get("model", ""), api_key=key, within=5.0
    )
    model = endpoint.get("model") or next(iter(found.models), "")
    if not model:
        message = f"doesn't say which model it serves ({found.asked_for_models})"
        raise EngineLost(f"{url} {message}; is it up? Else give --model")
    if len(found.models) > 1 and not endpoint.get("model"):
        message = f"serves {len(found.models)} models; give one with --model"
        raise DocumentError([Problem("endpoints", ", ".join(found.models), message)])
    return {**endpoint, "model": model, "kind": endpoint.get("kind") or found.kind}


def _directory(out: Path | None, *, force: bool) -> Path:
    """An empty directory; with force, one whose files of an earlier comparison are gone."""
    if out is None:
        out = Path(f"headway-ab-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    if out.exists() and not out.is_dir():
        raise DocumentError([Problem("out", str(out), "must be a directory")])
    if out.is_dir() and any(out.iterdir()) and not force:
        message = "is not empty; give another, or --force to write over the comparison in it"
        raise DocumentError([Problem("out", str(out), message)])
    out.mkdir(parents=True, exist_ok=True)
    for name in (ORDER, BLOCKS, RESULT):
        (out / name).unlink(missing_ok=True)
    return out


def _refuse(word: str, problems: Any) -> int:
    for problem in problems:
        tell(f"headway ab: {printable(str(problem))}\n", sys.stderr)
    return EXIT_CODES[word]
