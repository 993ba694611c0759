"""Progress on a terminal: one line that renews itself each second, or plain lines in a log."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from headway.running.saying import say, would_wait
from loadtest.conclusion import Conclusion
from loadtest.facts import Facts
from loadtest.news import News
from loadtest.printable import printable
from loadtest.scenario import Scenario
from measurement.objective_verdict import INVALID

_NUMBERS = re.compile(r"[\d.,]+")


class Progress:
    """The observer of ``headway run``. Writes to stderr, so that stdout is the report alone."""

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet or self._stream is None
        self._renews = not self._quiet and self._stream.isatty()
        self._duration = 0.0
        self._open_line = False
        self._doubt = ""

    def started(self, scenario: Scenario, facts: Facts) -> None:
        self._duration = scenario.duration_s
        asked = "a closed loop" if facts.scheduled is None else f"{facts.scheduled:,} requests"
        endpoint = scenario.endpoint
        policy = scenario.policy.name if scenario.policy else "no policy"
        shadow = f" beside the shadow {scenario.shadow.name}" if scenario.shadow else ""
        self._line(
            f"{asked} over {scenario.duration_s:g} s to {endpoint.model} at {endpoint.base_url}"
            f" ({endpoint.kind}), {policy}{shadow}, seed {scenario.seed}"
        )

    def news(self, news: News) -> None:
        text = describe(news, self._duration)
        if self._quiet:
            return
        doubt = _NUMBERS.sub("", news.verdict.because)  # they change each second
        if news.verdict.outcome == INVALID and doubt != self._doubt:
            self._doubt = doubt
            if self._open_line:
                self._say("\n")
            self._open_line = False
            self._line(news.verdict.because)
        if self._renews:
            self._say(f"\r\x1b[2K{printable(text)}")
            self._open_line = True
        else:
            self._line(text)

    def concluded(self, conclusion: Conclusion) -> None:
        if self._open_line:
            self._say("\n")
        for note in conclusion.notes:
            self._line(note)

    def _line(self, text: str) -> None:
        self._say(f"{printable(text)}\n")

    def _say(self, text: str) -> None:
        """A stream that fails once is left alone from then on; the load goes on.

        Nor does it wait for a reader that does not read: such a one misses lines.
        """
        if not self._quiet and not would_wait(self._stream) and say(text, self._stream) is not None:
            self._quiet = True


def describe(news: News, duration: float) -> str:
    """Elapsed, left, offered, in flight, attainment, TTFT P99, errors."""
    return line(news.at, news.totals, duration)


def line(at: float, totals: Mapping[str, Any], duration: float) -> str:
    """The same of a run that someone else watches; all that was offered, warm-up marked."""
    left = max(0.0, duration - at)
    warm = totals.get("offered_in_warm_up") or 0
    warming = at < (totals.get("warm_up_s") or 0.0)
    return (
        f"{min(at, 1e6):5.0f} s"
        f" · {f'{left:.0f} s left' if left else 'draining'}"
        f"{' · warm-up, not judged' if warming else ''}"
        f" · offered {totals['offered'] + warm:,}"
        f"{f' ({warm:,} in warm-up)' if warm and not warming else ''}"
        f" · in flight {totals['in_flight']:,}"
        f"{_waiting(totals)}"
        f" · attainment {_percent(totals['attainment'])}"
        f" · TTFT P99 {_p99(totals['ttft_ms'])}"
        f" · errors {totals['errors'] + totals['rejected']:,}"
    )


def _waiting(totals: Mapping[str, Any]) -> str:
    return f" · held {totals['waiting']:,}" if totals["waiting"] else ""


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f} %"


def _p99(found: dict[str, Any]) -> str:
    """A percentile of too few values is shown as such, with a tilde."""
    if found["p99"] is not None:
        return f"{found['p99']:,.0f} ms"
    rough = found["rough"].get("p99")
    return "–" if rough is None else f"~{rough:,.0f} ms"
