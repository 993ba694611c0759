"""A run in a process of its own: ``python -m loadtest.worker``. News are JSON lines on stdout.

SIGTERM, the end of stdin or the parent's death cancel the run: nothing more is sent, what is open
is closed, and the report is written all the same. Messages: docs/running.md.
"""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from documents.problem import DocumentError, Problem
from engines.egress import EgressDenied, EgressRules
from engines.proxy import Proxy
from loadtest import measured_json, sample_store
from loadtest.conclusion import CANCELLED, Conclusion
from loadtest.crew import execute_crew
from loadtest.eventloop import run_fast
from loadtest.execution import Order, Start, execute, measure
from loadtest.facts import Facts
from loadtest.news import News
from loadtest.reports.base import formats
from loadtest.scenario import Scenario
from loadtest.schedule import WHOLE, Slice
from loadtest.tether import stop_on_signals, stop_with_parent
from measurement.verdict import EXIT_CODES

_RULES = {
    "public": EgressRules(),
    "loopback": EgressRules.loopback(),
    "open": EgressRules.open(),
}


_BARRIER_WITHIN = 60.0
"""Seconds that one of several workers waits for its start."""


class Lines:
    """JSON lines on a descriptor, written by a thread: a slow reader never stalls the load."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def say(self, kind: str, **message: Any) -> None:
        self._queue.put(msgspec.json.encode({"type": kind, **message}) + b"\n")

    def close(self, *, within: float = 1.0) -> None:
        """Wait for what was said to be written, but not for a reader that has gone."""
        self._queue.put(None)
        self._thread.join(within)

    def _write(self) -> None:
        while (line := self._queue.get()) is not None:
            try:
                while line:
                    line = line[os.write(self._descriptor, line) :]
            except OSError:
                return


class Telling:
    """The observer that turns news into messages."""

    def __init__(self, lines: Lines) -> None:
        self._say = lines.say
        self._missing: bool | None = None

    def started(self, scenario: Scenario, facts: Facts) -> None:
        self._say(
            "started",
            at_unix=facts.at_unix,
            offered=facts.scheduled,
            duration_s=scenario.duration_s,
            version=facts.version,
            prompt_salt=facts.prompt_salt,
        )

    def news(self, news: News) -> None:
        if news.decisions:
            self._say("decisions", decisions=[item.to_json() for item in news.decisions])
        if news.shadow is not None:
            self._say(
                "shadow",
                decisions=[item.to_json() for item in news.shadow.decisions],
                report=news.shadow.report.to_json(),
            )
        if news.signals_missing is not None and news.signals_missing is not self._missing:
            self._missing = news.signals_missing
            self._say("signals", missing=news.signals_missing)
        self._say(
            "windows",
            at=news.at,
            windows=[window.to_json() for window in news.windows],
            verdict=news.verdict.to_json(),
            totals=news.totals,
        )

    def concluded(self, conclusion: Conclusion) -> None:
        text = formats.get("json")().render(conclusion)
        self._say("finished", status=conclusion.status, summary=json.loads(text))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one slice of one scenario and say how it goes."""
    args = arguments().parse_args(argv)
    lines = Lines(sys.stdout.fileno())
    return run_told(_run(args, lines), lines)


def run_told(work: Coroutine[Any, Any, int], lines: Lines) -> int:
    """Run it to its exit code; whatever goes wrong is said before this ends."""
    try:
        code = run_fast(work)
    except EgressDenied as error:
        code = _error(lines, "target_not_allowed", str(error))
    except DocumentError as error:
        problems = [str(problem) for problem in error.problems]
        code = _error(lines, "bad_configuration", str(error), problems=problems)
    except ChildProcessError as error:  # one of several did not get ready: a sentence of ours
        code = _error(lines, "infrastructure", str(error))
    except Exception as error:  # noqa: BLE001 - the edge: whatever it is, the supervisor is told
        code = _error(lines, "infrastructure", f"{type(error).__name__}: {error}")
    lines.close()
    return code


async def _run(args: argparse.Namespace, lines: Lines) -> int:
    order, stop, barrier = order_of(args), asyncio.Event(), Barrier(lines)
    return await until_stopped(_status(args, order, lines, barrier, stop), stop, barrier.heard)


async def until_stopped(
    work: Awaitable[str], stop: asyncio.Event, heard: Callable[[bytes], None] = lambda _: None
) -> int:
    """The exit code of what ends with a status, and that a signal or the parent's end stops."""
    watching = asyncio.ensure_future(stop_with_parent(stop, heard))
    try:
        with stop_on_signals(stop, patience=1_000):
            status = await work
    finally:
        watching.cancel()
    return EXIT_CODES["cancelled"] if status == CANCELLED else 0


async def _status(
    args: argparse.Namespace, order: Order, lines: Lines, barrier: Barrier, stop: asyncio.Event
) -> str:
    """Alone, as the leader of several, or as one of them."""
    telling = Telling(lines)
    if args.barrier:
        waiting = replace(order, barrier=lambda: barrier.passed(stop))
        measured = await measure(waiting, telling, stop)
        lines.say("measured", measured=measured_json.to_json(measured))
        return measured.status
    if args.profile:
        return await _simulated(args.profile, order, telling, stop)
    if args.workers == 1:
        return (await execute(order, telling, stop)).status
    egress = ["--egress", args.egress]
    egress += [word for network in args.allow for word in ("--allow", str(network))]
    egress += ["--proxy", args.proxy] if args.proxy is not None else []
    return (await execute_crew(order, args.workers, egress, telling, stop)).status


async def _simulated(name: str, order: Order, telling: Telling, stop: asyncio.Event) -> str:
    """On a profile of the engine model, as fast as it goes, beside this event loop."""
    from loadtest.simulate import (  # noqa: PLC0415 - a load test starts without it
        MOST_KEPT,
        Options,
        simulate,
    )
    from simulator import profile as profiles  # noqa: PLC0415

    options = Options(
        out=order.out,
        at_unix=time.time(),
        observer=telling,
        stop=stop.is_set,
        most_requests=MOST_KEPT,
    )
    profile = profiles.load(name)
    done = await asyncio.to_thread(simulate, order.scenario, profile, name=name, options=options)
    return done.status


class Barrier:
    """Says that all is ready and waits for the start that a line on stdin names."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._said = b""
        self._named = asyncio.Event()

    def heard(self, said: bytes) -> None:
        """Bytes from stdin: ``MONOTONIC UNIX`` and a line's end."""
        self._said += said
        if b"\n" in self._said:
            self._named.set()

    async def passed(self, stop: asyncio.Event) -> Start:
        """The common start; now, when the run is stopped instead or nobody names one."""
        self._lines.say("ready")
        named, stopped = (asyncio.ensure_future(event.wait()) for event in (self._named, stop))
        await asyncio.wait(
            {named, stopped}, timeout=_BARRIER_WITHIN, return_when=asyncio.FIRST_COMPLETED
        )
        named.cancel()
        stopped.cancel()
        if not self._named.is_set():
            stop.set()
            return Start.after(0.0)
        monotonic, unix = self._said.partition(b"\n")[0].split()
        return Start(float(monotonic), float(unix))


def order_of(args: argparse.Namespace) -> Order:
    try:
        given = json.loads(args.scenario.read_text("utf-8"))
    except (OSError, ValueError) as error:
        problem = Problem("scenario", str(args.scenario), f"can't be read: {error}")
        raise DocumentError([problem]) from None
    args.out.mkdir(parents=True, exist_ok=True)
    rules = replace(
        _RULES[args.egress],
        allow=(*_RULES[args.egress].allow, *args.allow),
        proxy=None if args.proxy is None else Proxy.parse(args.proxy),
    )
    key = os.environ.get("HEADWAY_API_KEY", "")
    sample_store.check(args.samples_format)
    return Order(
        Scenario.parse(given),
        args.out,
        rules,
        key,
        args.slice,
        args.start_at,
        samples_format=args.samples_format,
    )


def _error(lines: Lines, word: str, message: str, **more: Any) -> int:
    code = EXIT_CODES[word]
    lines.say("error", code=code, reason=word, message=message, **more)
    return code


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m loadtest.worker", description=__doc__)
    parser.add_argument("--scenario", type=Path, required=True, help="scenario document, JSON")
    parser.add_argument("--out", type=Path, required=True, help="directory for what it measures")
    parser.add_argument("--egress", choices=sorted(_RULES), default="public")
    parser.add_argument(
        "--allow", type=ipaddress.ip_network, action="append", default=[], metavar="NETWORK"
    )
    parser.add_argument("--proxy", metavar="URL", help="what every request goes through")
    parser.add_argument("--samples-format", default=sample_store.JSONL)
    parser.add_argument("--slice", type=Slice.parse, default=WHOLE, metavar="K/N")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="lead so many workers")
    parser.add_argument("--profile", metavar="NAME", help="play it through the engine model")
    parser.add_argument("--barrier", action="store_true", help="be one of them: say ready, wait")
    parser.add_argument("--start-at", type=float, default=None, metavar="UNIX_SECONDS")
    return parser


if __name__ == "__main__":
    sys.exit(main())
