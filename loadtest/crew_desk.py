"""What several workers say becomes the news of one run: merged windows, sums, copied samples."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loadtest.crew_member import Member, row_of
from loadtest.execution import Observer
from loadtest.news import News, Sums, doubts, invalid
from loadtest.recorder import SAMPLES, Recorder
from loadtest.scenario import Scenario
from loadtest.schedule import Slice
from loadtest.window_merge import WindowMerge
from measurement.live import Live
from measurement.window import Window

LOOKED_BACK = 30
"""Seconds of each worker's own course that are told beside its newest numbers."""
GAUGES = ("in_flight", "waiting", "limit")
"""What stands at one moment, summed over those who are heard."""
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
        self._pulses = [Course() for _ in range(workers)]
        self._copies: list[Copy] = []
        self._at = 0.0
        self._signals_missing: bool | None = None
        self._doubts: tuple[str, ...] = ()
        self._rows: list[dict[str, Any]] = []

    def copy_from(self, directories: Sequence[Path]) -> None:
        """Whose samples to copy."""
        self._copies = [Copy(path / SAMPLES) for path in directories]

    def hear(self, part: Slice, message: dict[str, Any]) -> None:
        """One worker's message."""
        if message["type"] == "windows":
            windows = [Window.from_json(given) for given in message["windows"]]
            self._merge.take(part.number, windows)
            self._totals[part.number] = message["totals"]
            self._pulses[part.number].take(message["totals"].get("client") or {})
            self._at = max(self._at, message["at"])
        elif message["type"] == "samples":
            self._recorder.copied(message["lines"])
        elif message["type"] == "signals" and part.number == 0:  # the only one that asks
            self._signals_missing = message["missing"]

    def turn(self, members: Sequence[Member]) -> None:
        """Tell what is whole by now, and at once what makes the result invalid; the workers that
        have ended are not waited for."""
        for member in members:
            if member.listening.done():
                self._merge.ended(member.part.number)
            if member.lost:  # its errors were; what it had in flight is not there any more
                totals = self._totals[member.part.number]
                for gauge in GAUGES:
                    totals.pop(gauge, None)
        doubts = tuple(doubt for member in members for doubt in member.doubts())
        self._rows = [
            {**row_of(member), **({} if member.lost else pulse.to_json())}
            for member, pulse in zip(members, self._pulses, strict=True)
        ]
        if members[0].lost and self._signals_missing is not None:
            self._signals_missing = True  # the one that asked for them is gone
        windows = self._merge.changed()
        if windows or doubts != self._doubts:
            self._doubts = doubts
            self._tell(windows, last=all(member.listening.done() for member in members))

    def last(self) -> None:
        """The rest of the samples, once nobody writes any more."""
        self._copy()

    def _tell(self, windows: list[Window], *, last: bool) -> None:
        self._copy()
        self._recorder.windows(windows)
        self._live.update(windows)
        verdict, totals = self._sums.now(last=last)
        verdict = invalid(verdict, (*self._doubts, *doubts(self._totals)), self._live.tally)
        gauges = {name: self._sum(name) for name in GAUGES}
        totals = {**totals, **gauges, "first_errors": self._first_errors()}
        totals["by_worker"] = self._rows
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


class Course:
    """How one worker's client has been of late, from what it says each second."""

    def __init__(self) -> None:
        self._newest: dict[str, Any] = {}
        self._cpu = deque[float | None](maxlen=LOOKED_BACK)
        self._lag = deque[float | None](maxlen=LOOKED_BACK)

    def take(self, pulse: Mapping[str, Any]) -> None:
        """What it said; nothing where it is of another version."""
        if not pulse:
            return
        self._newest = {name: pulse.get(name) for name in ("cpu_share", "loop_lag_p99_ms")}
        self._cpu.append(pulse.get("cpu_share"))
        self._lag.append(pulse.get("loop_lag_max_ms"))

    def to_json(self) -> dict[str, Any]:
        """The newest, and the last seconds in order; empty before the first."""
        if not self._newest:
            return {}
        return {**self._newest, "cpu_course": [*self._cpu], "lag_course_ms": [*self._lag]}


class Copy:
    """Reads a file of lines as it grows, whole lines only; none is longer than ``block`` bytes."""

    def __init__(self, path: Path, block: int = _BLOCK) -> None:
        self._path = path
        self._block = block
        self._offset = 0

    def more(self) -> bytes:
        """The next whole lines; empty where there are none yet."""
        if not self._path.exists():
            return b""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            block = file.read(self._block)
        whole = block[: block.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole
