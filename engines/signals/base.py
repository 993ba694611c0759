"""What an engine says of itself, and what an adapter of one kind is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, TypeVar

from documents.registry import Registry
from engines import prometheus
from engines.dialect import Dialect
from engines.prometheus import Sample


@dataclass(frozen=True, slots=True)
class EngineSignals:
    """One reading. None where the engine doesn't say; counters are since its start."""

    at: float
    running: float | None = None
    """Requests that hold a place in the batch."""
    waiting: float | None = None
    """Requests in the engine's own queue."""
    kv_use: float | None = None
    """Share of the KV cache in use, 0 to 1; the fullest engine's, where there are several."""
    kv_tokens: float | None = None
    """Tokens that the KV cache can hold."""
    preemptions: float | None = None
    prefix_hits: float | None = None
    """Prompt tokens found in the prefix cache."""
    prefix_queries: float | None = None
    """Prompt tokens looked for in it."""
    prompt_tokens: float | None = None
    output_tokens: float | None = None

    @property
    def present(self) -> frozenset[str]:
        """The signals that this reading holds."""
        return frozenset(name for name in SIGNALS if getattr(self, name) is not None)


@dataclass(frozen=True, slots=True)
class Metric:
    """Where a signal stands: names from the newest to the oldest, and how several lines add up.

    The first name that is there wins, so that an engine's renames cost one more name here.
    """

    names: tuple[str, ...]
    fold: Literal["sum", "max"] = "sum"
    labels: tuple[str, ...] = ()
    """Of a metric that tells by labels: those whose product is the value of a line."""

    def read(self, scrape: Mapping[str, Sequence[Sample]]) -> float | None:
        """The value, or None when no name is there or none of its lines holds a finite number."""
        for name in self.names:
            told = [self._told(line) for line in scrape.get(name, ())]
            values = [value for value in told if value is not None and math.isfinite(value)]
            if values:
                return sum(values) if self.fold == "sum" else max(values)
        return None

    def _told(self, line: Sample) -> float | None:
        """A line's value; None where a label that it is made of is no number."""
        if not self.labels:
            return line.value
        try:
            return math.prod(float(line.labels.get(label, "")) for label in self.labels)
        except ValueError:
            return None


def read_signals(text: str, at: float, table: Mapping[str, Metric]) -> EngineSignals:
    """Read a scrape by a table of signal → metric; what the table or the scrape lacks is None."""
    scrape = prometheus.read(text, {name for metric in table.values() for name in metric.names})
    return EngineSignals(at=at, **{key: metric.read(scrape) for key, metric in table.items()})


SIGNALS: tuple[str, ...] = tuple(
    field.name for field in dataclasses.fields(EngineSignals) if field.name != "at"
)


class EngineAdapter(Protocol):
    """One kind of engine: its dialect, its signals, and the marks by which a probe knows it."""

    name: ClassVar[str]
    summary: ClassVar[str]
    dialect: ClassVar[Dialect]
    metrics_path: ClassVar[str | None]
    """Where the signals stand; None when the kind has none."""
    capabilities: ClassVar[frozenset[str]]
    """The signals that a current release of this kind can say."""
    owners: ClassVar[tuple[str, ...]]
    """``owned_by`` in its model list."""
    metric_prefix: ClassVar[str | None]
    """How its own metrics' names begin; None where they are none of its own."""

    def parse(self, text: str, at: float) -> EngineSignals:
        """Read a scrape; what it doesn't hold stays None."""


adapters: Registry[EngineAdapter] = Registry("engines.signals", "engine kind")

A = TypeVar("A", bound=type[EngineAdapter])


def engine_adapter(cls: A) -> A:
    """Register an adapter; the type checker holds it to the protocol."""
    adapters.add(cls.name, cls)
    return cls


def adapter(kind: str) -> EngineAdapter:
    """The adapter of a kind; DocumentError lists the known ones."""
    return adapters.get(kind, path="endpoint.kind")()
