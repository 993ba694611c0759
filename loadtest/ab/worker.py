"""A comparison in a process of its own: ``python -m loadtest.ab.worker``; news are JSON lines.

SIGTERM, the end of stdin or the parent's death end it: what is open is closed, and the blocks that
were closed until then are the result. Messages: docs/ab.md.
"""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from documents.problem import DocumentError, Problem
from engines.egress import EgressDenied, EgressRules
from loadtest.ab.book import BlockBook, Closed
from loadtest.ab.execution import Standing
from loadtest.ab.hosting import Reach, carry_out, loop_of
from loadtest.ab.order import Order
from loadtest.ab.result import Result, arm_json
from loadtest.tether import stop_on_signals, stop_with_parent
from loadtest.worker import Lines
from measurement.comparison.assignment import Arm
from measurement.comparison.power import Power
from measurement.comparison.verdict import ComparisonVerdict
from measurement.verdict import EXIT_CODES

KEYS = ("HEADWAY_API_KEY", "HEADWAY_API_KEY_2")
"""Environment variables with the endpoints' credentials, in their order."""


class Telling:
    """The observer that turns news into messages."""

    def __init__(self, lines: Lines) -> None:
        self._say = lines.say

    def started(self, order: Order, power: tuple[Power, ...], model: dict[str, Any]) -> None:
        self._say(
            "started",
            order_sha256=order.sha256,
            blocks=order.plan.blocks,
            seconds=order.seconds,
            power=[one.to_json() for one in power],
            model=model or None,
        )

    def standing(self, standing: Standing) -> None:
        self._say("progress", **asdict(standing))

    def block(self, closed: Closed, book: BlockBook, verdict: ComparisonVerdict | None) -> None:
        self._say(
            "block",
            block=closed.block.to_json(),
            arms={str(arm): arm_json(closed.cohorts[arm]) for arm in Arm},
            totals={str(arm): arm_json(book.totals[arm]) for arm in Arm},
            verdict=verdict.to_json() if verdict is not None else None,
        )

    def concluded(self, result: Result) -> None:
        self._say("finished", status=result.status, result=result.to_json())


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one order and say how it goes."""
    args = _arguments().parse_args(argv)
    lines = Lines(sys.stdout.fileno())
    try:
        order = _order(args.order)
        args.out.mkdir(parents=True, exist_ok=True)
        code = loop_of(order.where)(_run(order, args, lines))
    except EgressDenied as error:
        code = _error(lines, "target_not_allowed", str(error))
    except DocumentError as error:
        code = _error(lines, "bad_configuration", str(error))
    except Exception as error:  # noqa: BLE001 - the edge: whatever it is, the supervisor is told
        code = _error(lines, "infrastructure", f"{type(error).__name__}: {error}")
    lines.close(within=5.0)
    return code


async def _run(order: Order, args: argparse.Namespace, lines: Lines) -> int:
    stop = asyncio.Event()
    watching = asyncio.ensure_future(stop_with_parent(stop))
    reach = Reach(
        replace(EgressRules(), allow=(*EgressRules().allow, *args.allow)),
        [os.environ.get(name, "") for name in KEYS],
    )
    try:
        with stop_on_signals(stop, patience=1_000):
            result = await carry_out(order, args.out, Telling(lines), reach=reach, stop=stop)
    finally:
        watching.cancel()
    return result.exit_code


def _order(path: Path) -> Order:
    try:
        given = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DocumentError([Problem("order", str(path), f"can't be read: {error}")]) from None
    return Order.parse(given)


def _error(lines: Lines, word: str, message: str) -> int:
    code = EXIT_CODES[word]
    lines.say("error", code=code, reason=word, message=message)
    return code


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m loadtest.ab.worker", description=__doc__)
    parser.add_argument("--order", type=Path, required=True, help="order document, JSON")
    parser.add_argument("--out", type=Path, required=True, help="directory for what it measures")
    parser.add_argument(
        "--allow", type=ipaddress.ip_network, action="append", default=[], metavar="NETWORK"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
