"""What a trace is: requests with their times and lengths, and what is known of their prefixes."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, TextIO, TypeVar

from documents.problem import DocumentError, Problem
from documents.registry import Registry


@dataclass(frozen=True, slots=True)
class Measured:
    """What an engine really did with a request: seconds from its arrival at the engine."""

    ttft: float
    e2e: float


@dataclass(frozen=True, slots=True)
class Traced:
    """One request of a trace. ``at`` is in seconds on the trace's own clock."""

    at: float
    prompt_tokens: int
    output_tokens: int
    prefix_ids: tuple[int, ...] | None = None
    """Names of the prompt's pieces: equal names stand for equal tokens after equal pieces."""
    prefix_size: int = 0
    """Tokens of one piece; the last may be shorter."""
    measured: Measured | None = None


class TraceFormat(Protocol):
    """A class without state that reads one format."""

    name: ClassVar[str]
    summary: ClassVar[str]

    @staticmethod
    def recognises(first_line: str) -> bool:
        """Whether a file that begins with this line is of the format."""
        ...

    @staticmethod
    def read(lines: Iterable[str]) -> Iterator[Traced]:
        """Its requests, in any order; ValueError or KeyError where a line is no request."""
        ...


formats: Registry[TraceFormat] = Registry("loadtest.traces", "trace format")

F = TypeVar("F", bound=type[TraceFormat])


def trace_format(cls: F) -> F:
    """Register a format."""
    formats.add(cls.name, cls)
    return cls


def read_trace(path: Path) -> list[Traced]:
    """A trace file in any known format (gzip too), in order of time, the first request at 0.

    DocumentError where it can't be read, is of no known format, or holds a faulty line.
    """
    try:
        with _opened(path) as file:
            first = next(iter(file), "")
            found = _read(_recognised(first, path), _Counted(first, file), path)
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise _fault(path, f"can't be read: {error}") from None
    if not found:
        raise _fault(path, "holds no request")
    found.sort(key=lambda traced: traced.at)
    start = found[0].at
    return [_from(traced, start) for traced in found]


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


class _Counted:
    """Lines that know how many of them were taken."""

    def __init__(self, first: str, rest: Iterable[str]) -> None:
        self.line = 0
        self._first = first
        self._rest = rest

    def __iter__(self) -> Iterator[str]:
        self.line = 1
        yield self._first
        for line in self._rest:
            self.line += 1
            if line.strip():
                yield line


def _recognised(first: str, path: Path) -> type[TraceFormat]:
    for cls in formats.all().values():
        if cls.recognises(first):
            return cls
    known = ", ".join(formats.all())
    raise _fault(path, f"is a trace of no known format ({known})")


def _read(format_: type[TraceFormat], lines: _Counted, path: Path) -> list[Traced]:
    try:
        return [traced for traced in format_.read(lines) if _whole(traced)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"line {lines.line} is no request of the format {format_.name}: {error}"
        raise _fault(path, message) from None


def _whole(traced: Traced) -> bool:
    """Requests that failed have no tokens; they are not part of the load that was served."""
    return traced.prompt_tokens > 0 and traced.output_tokens > 0


def _from(traced: Traced, start: float) -> Traced:
    return Traced(
        traced.at - start,
        traced.prompt_tokens,
        traced.output_tokens,
        traced.prefix_ids,
        traced.prefix_size,
        traced.measured,
    )


def _fault(path: Path, message: str) -> DocumentError:
    return DocumentError([Problem("trace", str(path), message)])
