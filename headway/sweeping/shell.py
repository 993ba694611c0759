"""``headway sweep`` from its arguments to its exit code."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from documents.parse import build
from documents.problem import DocumentError, Problem
from engines.egress import EgressDenied, EgressRules
from headway.running.arguments import document
from headway.running.progress import Progress
from headway.running.saying import hold_descriptors, report, tell
from headway.running.shell import NoModel, complete
from loadtest.conclusion import CANCELLED, Conclusion
from loadtest.eventloop import run_fast
from loadtest.execution import Order, execute
from loadtest.printable import printable
from loadtest.scenario import Scenario
from loadtest.simulation.stand_in import NOWHERE
from loadtest.sweep import model
from loadtest.sweep.ladder import Ladder
from loadtest.sweep.report import render
from loadtest.sweep.result import Rung, Sweep, analyse
from loadtest.tether import stop_on_signals
from measurement.verdict import EXIT_CODES
from simulator import profile as profiles

FILE = "sweep.json"

FILLING = 0.25
RunOne = Callable[[Scenario, Path], Awaitable[Conclusion]]


def sweep_in_shell(args: argparse.Namespace) -> int:
    """Sweep, print the report, return the exit code."""
    hold_descriptors()
    try:
        found, out, cancelled = run_fast(_sweep(args))
    except EgressDenied as error:
        return _refuse("target_not_allowed", error.problems)
    except DocumentError as error:
        return _refuse("bad_configuration", error.problems)
    except (NoModel, OSError) as error:
        return _refuse("infrastructure", [error])
    except KeyboardInterrupt:
        return _refuse("cancelled", ["stopped before the report was written"])
    text = _json(found) if args.json else render(found)
    report(text, name="sweep", kept=f"it is in {out / FILE}")
    return _exit_code(found, cancelled=cancelled)


def _exit_code(found: Sweep, *, cancelled: bool) -> int:
    """0 for a knee that reproduces; a sweep without one, or that does not, is inconclusive."""
    if cancelled:
        return EXIT_CODES["cancelled"]
    if all(rung.observed is None for rung in found.rungs):
        return EXIT_CODES["invalid"]
    clear = found.knee.load is not None and found.reproducible is not False
    return EXIT_CODES["pass" if clear else "inconclusive"]


async def _sweep(args: argparse.Namespace) -> tuple[Sweep, Path, bool]:
    stop = asyncio.Event()
    with stop_on_signals(stop):
        ladder = build(Ladder, _ladder(args))
        base, run_one = await _where(args, stop)
        target = next(ladder.scenarios(base, 0)).slo
        out = _directory(args.out)
        rungs = await _climb(ladder, base, out, run_one, stop, quiet=args.quiet)
    found = analyse(rungs, ladder, target.target if target else None)
    (out / FILE).write_text(_json(found), "utf-8")
    if not args.quiet:
        tell(f"files in {out}\n", sys.stderr)
    return found, out, stop.is_set()


def _ladder(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "from": args.lowest,
        "to": args.highest,
        "steps": args.steps,
        "repeats": args.repeats,
    }


async def _where(args: argparse.Namespace, stop: asyncio.Event) -> tuple[dict[str, Any], RunOne]:
    """The scenario that all rungs share, and who runs one: an endpoint, or the model."""
    if bool(args.endpoint) == bool(args.profile):
        message = "give either --endpoint URL or --profile NAME"
        raise DocumentError([Problem("endpoint", args.endpoint, message)])
    asked = argparse.Namespace(**vars(args), rate=args.lowest)
    if args.profile:
        profile = profiles.load(args.profile)
        asked.endpoint, asked.kind = NOWHERE, "simulated"
        asked.model = args.model or args.profile

        async def on_model(scenario: Scenario, out: Path) -> Conclusion:  # noqa: ARG001
            return await asyncio.to_thread(model.run, scenario, profile, args.profile)

        return _cut(document(asked)), on_model
    rules, key = EgressRules.open(), os.environ.get("HEADWAY_API_KEY", "")
    given = await complete(_cut(document(asked)), rules, key)

    async def on_endpoint(scenario: Scenario, out: Path) -> Conclusion:
        await asyncio.to_thread(out.mkdir)
        return await execute(Order(scenario, out, rules, key), Progress(quiet=args.quiet), stop)

    return given, on_endpoint


def _cut(given: dict[str, Any]) -> dict[str, Any]:
    """A rung starts on an empty engine: where the start is to be found, a quarter goes at least.

    Else what is still filling up would look like load that the engine does not follow.
    """
    if given.get("warm_up") == "auto":
        given["warm_up_s"] = FILLING * given["duration_s"]
    return given


async def _climb(
    ladder: Ladder,
    base: dict[str, Any],
    out: Path,
    run_one: RunOne,
    stop: asyncio.Event,
    *,
    quiet: bool,
) -> list[Rung]:
    """Each ladder from its foot, as far as a rung that is well past the knee."""
    rungs: list[Rung] = []
    for repeat in range(ladder.repeats):
        for place, scenario in enumerate(ladder.scenarios(base, repeat)):
            rate = ladder.rates[place]
            if not quiet:
                tell(f"ladder {repeat + 1} of {ladder.repeats}: {rate:g} requests/s\n", sys.stderr)
            conclusion = await run_one(scenario, out / f"{repeat + 1}-{rate:g}")
            if stop.is_set() or conclusion.status == CANCELLED:
                return rungs
            rungs.append(Rung.of(rate, repeat, conclusion))
            if rungs[-1].past:
                break
    return rungs


def _directory(out: Path | None) -> Path:
    out = out or Path(f"headway-sweep-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DocumentError([Problem("out", str(out), "must be a new or an empty directory")])
    out.mkdir(parents=True, exist_ok=True)
    return out


def _json(found: Sweep) -> str:
    return json.dumps(found.to_json(), ensure_ascii=False, indent=2) + "\n"


def _refuse(word: str, problems: Any) -> int:
    for problem in problems:
        tell(f"headway sweep: {printable(str(problem))}\n", sys.stderr)
    return EXIT_CODES[word]
