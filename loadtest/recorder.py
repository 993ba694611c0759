"""What a run leaves on disk while it runs, so that a crash at any byte still leaves a report.

One JSON object a line. Lines are gathered and written together, at least once a second, so the
load path never waits for a disk; a crash loses the last second and may cut the last line, which
the readers here skip, as they do any line that a fault of the disk broke. Windows are appended at
every revision: the newest of an index counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, TypeVar

import msgspec

from loadtest import sample_parquet
from measurement.sample import Sample
from measurement.sample_json import to_dict
from measurement.window import Window
from schedulers.decision import Decision
from schedulers.runtime.shadow import ShadowReport

SCENARIO = "scenario.json"
SAMPLES = "samples.jsonl"
PARQUET = "samples.parquet"
WINDOWS = "windows.jsonl"
TRACE = "trace.jsonl"
SHADOW = "shadow.jsonl"
SHADOW_REPORTS = "shadow_reports.jsonl"
SUMMARY = "summary.json"
FACTS = "run.json"

PART = "worker-"
"""Several workers of one run each write into a directory of this name and their number."""

_TOGETHER = 8
"""Samples that are encoded together: what does it is then in the processor's caches but for the
first."""
_FLUSH_AT = 1 << 20
"""Bytes of one file that are gathered before they are written out of turn."""


class _Lines:
    """A file that grows by whole lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO = path.open("wb", buffering=0)
        self._waiting: list[bytes] = []
        self._bytes = 0

    def add(self, line: bytes) -> None:
        self._waiting.append(line)
        self._bytes += len(line)
        if self._bytes >= _FLUSH_AT:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            block = memoryview(b"\n".join(self._waiting) + b"\n")
            try:
                while block:  # a disk that is nearly full takes part of it and says so only here
                    block = block[self._file.write(block) :]
            except OSError as error:  # which names no file
                raise OSError(error.errno, error.strerror, str(self._path)) from error
            self._waiting.clear()
            self._bytes = 0

    def close(self) -> None:
        self.flush()
        self._file.close()


class Recorder:
    """Streams samples, windows and decisions into a directory that exists.

    The two files of a shadow are there where there is a shadow.
    """

    def __init__(self, out: Path, *, shadow: bool = False) -> None:
        self._samples = _Lines(out / SAMPLES)
        self._ended: list[Sample] = []
        self._windows = _Lines(out / WINDOWS)
        self._trace = _Lines(out / TRACE)
        self._shadow = _Lines(out / SHADOW) if shadow else None
        self._shadow_reports = _Lines(out / SHADOW_REPORTS) if shadow else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def sample(self, sample: Sample) -> None:
        self._ended.append(sample)
        if len(self._ended) >= _TOGETHER:
            self._encode()

    def _encode(self) -> None:
        ended, self._ended = self._ended, []
        for sample in ended:
            self._samples.add(msgspec.json.encode(to_dict(sample)))

    def copied(self, samples: bytes) -> None:
        """Whole lines of samples that another process has written."""
        self._encode()
        if samples:
            self._samples.add(samples.removesuffix(b"\n"))

    def windows(self, windows: Iterable[Window]) -> None:
        """Written at once; may be called from another thread than the rest."""
        for window in windows:
            self._windows.add(msgspec.json.encode(window.to_json()))
        self._windows.flush()

    def decision(self, decision: Decision) -> None:
        self._trace.add(msgspec.json.encode(decision.to_json()))

    def shadow_decision(self, decision: Decision) -> None:
        if self._shadow is not None:
            self._shadow.add(msgspec.json.encode(decision.to_json()))

    def shadow_report(self, report: ShadowReport) -> None:
        """How the shadow compares by now; the last line counts."""
        if self._shadow_reports is not None:
            self._shadow_reports.add(msgspec.json.encode(report.to_json()))

    def flush(self) -> None:
        """Write the samples and decisions that have gathered; called once a second."""
        self._encode()
        for lines in (self._samples, self._trace, self._shadow, self._shadow_reports):
            if lines is not None:
                lines.flush()

    def close(self) -> None:
        self._encode()
        everything = (self._samples, self._windows, self._trace, self._shadow, self._shadow_reports)
        for lines in everything:
            if lines is not None:
                lines.close()


T = TypeVar("T")
Broken = Callable[[bytes], None]
"""Told of each whole line that can't be read."""
_decode = msgspec.json.Decoder(Sample).decode


def parts(out: Path) -> list[Path]:
    """The directories of the run's several workers; none where there was one, or all is copied."""
    return sorted(path for path in out.glob(f"{PART}*") if path.is_dir())


def read_samples(out: Path, broken: Broken | None = None) -> Iterator[Sample]:
    """Every whole sample in a run's directory, one at a time.

    DocumentError where they are kept as Parquet alone and pyarrow is missing.
    """
    if not (out / SAMPLES).exists() and (out / PARQUET).exists():
        yield from sample_parquet.read(out / PARQUET)
        return
    for line in _whole_lines(out / SAMPLES):
        try:
            sample = _decode(line)
        except msgspec.MsgspecError:
            if broken is not None:
                broken(line)
            continue
        yield sample


def read_windows(out: Path, broken: Broken | None = None) -> list[Window]:
    """The newest revision of each window, in order."""
    return read_of_windows(out, lambda window: window, broken)


def read_of_windows(out: Path, of: Callable[[Window], T], broken: Broken | None = None) -> list[T]:
    """What ``of`` takes of the newest revision of each window, in order; no more is held."""
    newest: dict[int, tuple[int, T]] = {}
    for line in _whole_lines(out / WINDOWS):
        try:
            window = Window.from_json(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError):
            if broken is not None:
                broken(line)
            continue
        if window.index not in newest or window.revision >= newest[window.index][0]:
            newest[window.index] = (window.revision, of(window))
    return [newest[index][1] for index in sorted(newest)]


def read_decisions(out: Path) -> Iterator[dict[str, Any]]:
    """Every line of the controller trace."""
    for line in _whole_lines(out / TRACE):
        yield json.loads(line)


def read_shadow_decisions(out: Path) -> Iterator[dict[str, Any]]:
    """Every line of the shadow's trace; none where there was no shadow."""
    for line in _whole_lines(out / SHADOW):
        yield json.loads(line)


def read_shadow_report(out: Path, broken: Broken | None = None) -> ShadowReport | None:
    """The newest report on the shadow; None where there is none."""
    newest = None
    for line in _whole_lines(out / SHADOW_REPORTS):
        try:
            newest = ShadowReport.from_json(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError):
            if broken is not None:
                broken(line)
    return newest


def _whole_lines(path: Path) -> Iterator[bytes]:
    """Lines that were written to their end; none where there is no file."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line
