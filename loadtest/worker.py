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
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from documents.problem import DocumentError, Problem
from engines.egress import EgressDenied, EgressRules
from loadtest.conclusion import CANCELLED, Conclusion
from loadtest.eventloop import run_fast
from loadtest.execution import Order, execute
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
    args = _arguments().parse_args(argv)
    lines = Lines(sys.stdout.fileno())
    try:
        code = run_fast(_run(_order(args), lines))
    except EgressDenied as error:
        code = _error(lines, "target_not_allowed", str(error))
    except DocumentError as error:
        problems = [str(problem) for problem in error.problems]
        code = _error(lines, "bad_configuration", str(error), problems=problems)
    except Exception as error:  # noqa: BLE001 - the edge: whatever it is, the supervisor is told
        code = _error(lines, "infrastructure", f"{type(error).__name__}: {error}")
    lines.close()
    return code


async def _run(order: Order, lines: Lines) -> int:
    stop = asyncio.Event()
    watching = asyncio.ensure_future(stop_with_parent(stop))
    try:
        with stop_on_signals(stop, patience=1_000):
            conclusion = await execute(order, Telling(lines), stop)
    finally:
        watching.cancel()
    return EXIT_CODES["cancelled"] if conclusion.status == CANCELLED else 0


def _order(args: argparse.Namespace) -> Order:
    try:
        given = json.loads(args.scenario.read_text("utf-8"))
    except (OSError, ValueError) as error:
        problem = Problem("scenario", str(args.scenario), f"can't be read: {error}")
        raise DocumentError([problem]) from None
    args.out.mkdir(parents=True, exist_ok=True)
    rules = replace(_RULES[args.egress], allow=(*_RULES[args.egress].allow, *args.allow))
    key = os.environ.get("HEADWAY_API_KEY", "")
    return Order(Scenario.parse(given), args.out, rules, key, args.slice, args.start_at)


def _error(lines: Lines, word: str, message: str, **more: Any) -> int:
    code = EXIT_CODES[word]
    lines.say("error", code=code, reason=word, message=message, **more)
    return code


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m loadtest.worker", description=__doc__)
    parser.add_argument("--scenario", type=Path, required=True, help="scenario document, JSON")
    parser.add_argument("--out", type=Path, required=True, help="directory for what it measures")
    parser.add_argument("--egress", choices=sorted(_RULES), default="public")
    parser.add_argument(
        "--allow", type=ipaddress.ip_network, action="append", default=[], metavar="NETWORK"
    )
    parser.add_argument("--slice", type=Slice.parse, default=WHOLE, metavar="K/N")
    parser.add_argument("--start-at", type=float, default=None, metavar="UNIX_SECONDS")
    return parser


if __name__ == "__main__":
    sys.exit(main())
