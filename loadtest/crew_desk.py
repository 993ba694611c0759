"""What several workers say becomes the news of one run: merged windows, sums, copied samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loadtest.execution import Observer
from loadtest.news import News, Sums
from loadtest.recorder import SAMPLES, Recorder
from loadtest.scenario import Scenario
from loadtest.schedule import Slice
from loadtest.window_merge import WindowMerge
from measurement.live import Live
from measurement.window import Window

_BLOCK = 1 << 24
"""Bytes of one worker's samples that are copied at a time."""


class Desk:
    """Hears every worker and tells the observer whenever windows are whole."""

    def __init__(
        self, scenario: Scenario, recorder: Recorder, workers: int, observer: Observer
    ) -> None:
        self._recorder = recorder
        self._observer = observer
        self._merge = WindowMerge(workers)
        self._live = Live(scenario.slo, duration=scenario.duration_s, since=scenario.warm_up_s)
        self._sums = Sums(self._live)
        self._totals: list[dict[str, Any]] = [{} for _ in range(workers)]
        self._copies: list[Copy] = []
        self._at = 0.0
        self._signals_missing: bool | None = None

    def copy_from(self, directories: Sequence[Path]) -> None:
        """Whose samples to copy."""
        self._copies = [Copy(path / SAMPLES) for path in directories]

    def hear(self, part: Slice, message: dict[str, Any]) -> None:
        """One worker's message."""
        if message["type"] == "windows":
            windows = [Window.from_json(given) for given in message["windows"]]
            self._merge.take(part.number, windows)
            self._totals[part.number] = message["totals"]
            self._at = max(self._at, message["at"])
        elif message["type"] == "signals" and part.number == 0:  # the only one that asks
            self._signals_missing = message["missing"]

    def turn(self, ended: Sequence[bool]) -> None:
        """Tell what is whole by now; the workers that have ended are not waited for."""
        for worker, over in enumerate(ended):
            if over:
                self._merge.ended(worker)
        if windows := self._merge.changed():
            self._tell(windows, last=all(ended))

    def last(self) -> None:
        """The rest of the samples, once nobody writes any more."""
        self._copy()

    def _tell(self, windows: list[Window], *, last: bool) -> None:
        self._copy()
        self._recorder.windows(windows)
        self._live.update(windows)
        verdict, totals = self._sums.now(last=last)
        gauges = {name: self._sum(name) for name in ("in_flight", "waiting", "limit")}
        totals = {**totals, **gauges, "first_errors": self._first_errors()}
        self._observer.news(
            News(self._at, tuple(windows), (), verdict, totals, self._signals_missing)
        )

    def _sum(self, name: str) -> int | None:
        known = [totals[name] for totals in self._totals if totals.get(name) is not None]
        return sum(known) if known else None

    def _first_errors(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for totals in self._totals:
            found = {**totals.get("first_errors", {}), **found}
        return found

    def _copy(self) -> None:
        for copy in self._copies:
            while block := copy.more():
                self._recorder.copied(block)
        self._recorder.flush()


class Copy:
    """Reads a file of lines as it grows, whole lines only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def more(self) -> bytes:
        """The next whole lines; empty where there are none yet."""
        if not self._path.exists():
            return b""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            block = file.read(_BLOCK)
        whole = block[: block.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole
