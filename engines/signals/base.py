"""What an engine says of itself, and what an adapter of one kind is."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from documents.registry import Registry
from engines.dialect import Dialect


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
    """How its own metrics' names begin."""

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
