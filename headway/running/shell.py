"""``headway run`` from its arguments to its exit code."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from documents.problem import DocumentError, Problem
from engines.egress import EgressDenied, EgressRules
from engines.probe import Probe, probe
from engines.proxy import Proxy
from headway.running.arguments import document
from headway.running.progress import Progress
from headway.running.saying import hold_descriptors, report, tell
from loadtest import crew_rules, publishing, recorder, sample_store
from loadtest.conclusion import Conclusion
from loadtest.crew import execute_crew
from loadtest.eventloop import run_fast
from loadtest.execution import Order, execute
from loadtest.printable import printable
from loadtest.scenario import Scenario
from loadtest.tether import stop_on_signals
from measurement.verdict import EXIT_CODES

_OURS = (
    recorder.SCENARIO,
    recorder.FACTS,
    recorder.SAMPLES,
    recorder.PARQUET,
    recorder.WINDOWS,
    recorder.TRACE,
    recorder.SHADOW,
    recorder.SHADOW_REPORTS,
    recorder.SUMMARY,
)


class NoModel(RuntimeError):  # noqa: N818 - reads as what happened
    """The endpoint can't be asked which model it serves."""


class NotWritten(RuntimeError):  # noqa: N818 - reads as what happened
    """A file of the run could not be written to its end."""


class NoMemory(RuntimeError):  # noqa: N818 - reads as what happened
    """The process gets no more memory, be it for a thread."""


def run_in_shell(args: argparse.Namespace) -> int:
    """Run, print the report, return the exit code."""
    hold_descriptors()
    try:
        with _memory():
            conclusion, out = run_fast(_run(args))
    except EgressDenied as error:
        return _refuse("target_not_allowed", error.problems)
    except DocumentError as error:
        return _refuse("bad_configuration", error.problems)
    except (NoModel, NoMemory, NotWritten, OSError) as error:
        return _refuse("infrastructure", [error])
    except KeyboardInterrupt:  # the second Ctrl-C: not even the report is waited for
        return _refuse("cancelled", ["stopped before the report was written"])
    text = publishing.render("json" if args.json else "table", conclusion)
    report(text, name="run", kept=f"it is in {out / recorder.SUMMARY}")
    return conclusion.exit_code


async def _run(args: argparse.Namespace) -> tuple[Conclusion, Path]:
    proxy = Proxy.parse(args.proxy) if args.proxy is not None else None
    rules, key = replace(EgressRules.open(), proxy=proxy), os.environ.get("HEADWAY_API_KEY", "")
    stop = asyncio.Event()
    with stop_on_signals(stop):
        scenario = Scenario.parse(await complete(document(args), rules, key))
        crew_rules.check(scenario, args.workers)
        sample_store.check(args.samples_format)
        out = directory(args.out, force=args.force)
        order = Order(scenario, out, rules, key, samples_format=args.samples_format)
        with claimed(out), _written(out):
            conclusion = await _executed(order, args, stop)
    if not args.quiet:
        tell(f"files in {out}\n", sys.stderr)
    return conclusion, out


async def _executed(order: Order, args: argparse.Namespace, stop: asyncio.Event) -> Conclusion:
    progress = Progress(quiet=args.quiet)
    if args.workers == 1:
        return await execute(order, progress, stop)
    egress = ["--egress", "open"]
    if order.rules.proxy is not None:
        egress += ["--proxy", order.rules.proxy.url]
    return await execute_crew(order, args.workers, egress, progress, stop)


async def complete(given: dict[str, Any], rules: EgressRules, key: str) -> dict[str, Any]:
    """Ask the endpoint for its kind and model where the arguments leave them open."""
    endpoint = given["endpoint"]
    if endpoint.get("model") and endpoint.get("kind"):
        return given
    open_model = {**endpoint, "model": endpoint.get("model") or "?"}
    Scenario.parse({**given, "endpoint": open_model})  # other faults first
    found = await probe(
        endpoint["base_url"], rules, model=endpoint.get("model", ""), api_key=key, within=5.0
    )
    model = endpoint.get("model") or _only(found, endpoint["base_url"])
    kind = endpoint.get("kind") or found.kind
    return {**given, "endpoint": {**endpoint, "model": model, "kind": kind}}


def _only(found: Probe, base_url: str) -> str:
    models = found.models
    if not models:
        message = f"doesn't say which model it serves ({found.asked_for_models})"
        raise NoModel(f"{base_url} {message}; is it up? Else give --model")
    if len(models) > 1:
        message = f"serves {len(models)} models; give one with --model: {', '.join(models)}"
        raise DocumentError([Problem("endpoint.model", None, message)])
    return models[0]


def directory(out: Path | None, *, force: bool) -> Path:
    """An empty directory; with force, one whose files of an earlier run are gone."""
    if out is None:
        out = Path(f"headway-run-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    if out.exists() and not out.is_dir():
        raise DocumentError([Problem("out", str(out), "must be a directory")])
    if out.is_dir() and any(out.iterdir()) and not force:
        message = "is not empty; give another, or --force to write over the run in it"
        raise DocumentError([Problem("out", str(out), message)])
    out.mkdir(parents=True, exist_ok=True)
    with claimed(out):
        _empty(out)
    return out


@contextlib.contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Hold a directory for one run. Two that share it would conclude from each other's samples."""
    descriptor = os.open(out, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = "is being written by another run; wait for its end, or give another directory"
            raise DocumentError([Problem("out", str(out), message)]) from None
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _memory() -> Iterator[None]:
    """What memory that ran out looks like, as one error."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        # The interpreter has no type of its own for a thread that it has no room for.
        if isinstance(error, RuntimeError) and str(error) != "can't start new thread":
            raise
        raise NoMemory(
            "this process got no more memory, and the run was stopped without a report; raise its "
            "limit (ulimit -v), or ask for less load"
        ) from error


@contextlib.contextmanager
def _written(out: Path) -> Iterator[None]:
    """What keeps the run's files from being written, with what can be done about it."""
    try:
        yield
    except OSError as error:
        if error.filename is None or not Path(error.filename).is_relative_to(out):
            raise
        raise NotWritten(
            f"{error.filename} can't be written: {error.strerror}. The run was stopped without a "
            f"report; make room, and python -m loadtest.recover {out} makes one of what there is"
        ) from error


def _empty(out: Path) -> None:
    """Without the files of an earlier run."""
    for name in _OURS:
        (out / name).unlink(missing_ok=True)
    for part in recorder.parts(out):
        shutil.rmtree(part)


def _refuse(word: str, problems: Any) -> int:
    for problem in problems:
        tell(f"headway run: {printable(str(problem))}\n", sys.stderr)
    return EXIT_CODES[word]
