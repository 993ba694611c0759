"""Progress of a comparison on a terminal: one line that renews itself, or plain lines in a log."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from headway.comparing.report import power_lines
from headway.running.saying import say, would_wait
from loadtest.ab.book import BlockBook, Closed
from loadtest.ab.execution import Standing
from loadtest.ab.order import Order
from loadtest.ab.result import Result
from loadtest.printable import printable
from measurement.comparison.power import Power
from measurement.comparison.verdict import ComparisonVerdict


class Progress:
    """The observer of ``headway ab``. Writes to stderr, so that stdout is the report alone."""

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet or self._stream is None
        self._renews = not self._quiet and self._stream.isatty()
        self._open_line = False
        self._gap = "no block yet"

    def started(self, order: Order, power: tuple[Power, ...], model: dict[str, Any]) -> None:
        for line in power_lines(order, power):
            self._line(line)
        if model:
            self._line(f"a model, profile {model['profile']}: {model['error']}")

    def standing(self, standing: Standing) -> None:
        left = "" if standing.left_s is None else f" · {standing.left_s:.0f} s left"
        text = f"block {standing.blocks} of {standing.of}{left} · {self._gap}"
        if self._renews:
            self._say(f"\r\x1b[2K{printable(text)}")
            self._open_line = True
        else:
            self._line(text)

    def block(self, closed: Closed, book: BlockBook, verdict: ComparisonVerdict | None) -> None:  # noqa: ARG002
        if verdict is None:
            return
        first = verdict.criteria[0]
        if first.m is not None:
            self._gap = f"{first.name} gap {100 * first.m:+.2f} points over {first.k} blocks"

    def concluded(self, result: Result) -> None:  # noqa: ARG002
        if self._open_line:
            self._say("\n")

    def _line(self, text: str) -> None:
        self._say(f"{printable(text)}\n")

    def _say(self, text: str) -> None:
        """A stream that fails once is left alone from then on; the load goes on.

        Nor does it wait for a reader that does not read: such a one misses lines.
        """
        if not self._quiet and not would_wait(self._stream) and say(text, self._stream) is not None:
            self._quiet = True
