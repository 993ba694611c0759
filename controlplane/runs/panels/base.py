"""What a panel is: a figure's look, the columns it draws, and one sentence about them.

A column answers with a number from one rolled-up window, or None where there is none; percentiles
are read from its merged histograms and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from documents.registry import Registry
from measurement.slo import Slo
from measurement.window import Window

Number = float | int | None
Column = Callable[[Window], Number]
Source = Literal["events", "cohorts"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: its start in seconds, and its columns by key."""

    at: int
    open: bool
    n: int
    values: Mapping[str, Number]

    def __getitem__(self, key: str) -> Number:
        return self.values.get(key)


@dataclass(frozen=True, slots=True)
class Series:
    """One line. ``d`` digits; a value whose row has fewer than ``grey_under_n`` is drawn grey."""

    key: str
    label: str
    color: str = "s1"
    dash: str = "none"
    step: bool = False
    fill: float = 0.0
    d: int = 0
    grey_under_n: int | None = None

    def to_json(self) -> dict[str, Any]:
        spec: dict[str, Any] = {"key": self.key, "label": self.label, "color": self.color}
        spec |= {"dash": self.dash, "step": self.step, "fill": self.fill, "d": self.d}
        if self.grey_under_n is not None:
            spec["grey_under_n"] = self.grey_under_n
        return spec


@dataclass(frozen=True, slots=True)
class Mark:
    """A level across the plot: an objective's limit."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Beside:
    """A shadow's line, drawn in a run that has a shadow; where it leaves ``active`` is shaded."""

    line: Series
    active: str
    """The key of the line that it is compared with."""
    within: float
    """The share of the active value by which the two may differ and still agree."""

    def to_json(self) -> dict[str, Any]:
        look = {"color": self.line.color, "within": self.within}
        return {"active": self.active, "shadow": self.line.key, **look}


@dataclass(frozen=True, slots=True)
class Figure:
    """How a panel looks."""

    title: str
    sub: str
    unit: str
    series: Sequence[Series]
    marks: Sequence[Mark] = ()
    y: Mapping[str, float] = field(default_factory=lambda: {"min": 0})
    scale_toggle: bool = False
    shadow: Beside | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What a sentence may speak of: the rows so far, how wide they are, and the objectives."""

    rows: Sequence[Row]
    step: int
    slo: Slo | None

    @property
    def closed(self) -> list[Row]:
        """Rows in which every request has its outcome: the slow ones are in them too."""
        return [row for row in self.rows if not row.open]

    def numbers(self, key: str) -> list[float]:
        """The column's values where there are any."""
        return [value for row in self.rows if (value := row[key]) is not None]

    def latest(self, key: str) -> Number:
        numbers = self.numbers(key)
        return numbers[-1] if numbers else None


class Panel(Protocol):
    """A class with no state of its own."""

    name: ClassVar[str]
    order: ClassVar[int]
    source: ClassVar[Source]
    columns: ClassVar[Mapping[str, Column]]

    def figure(self, slo: Slo | None) -> Figure: ...

    def sentence(self, shown: Shown) -> str: ...


panels: Registry[Panel] = Registry("controlplane.runs.panels", "panel")

P = TypeVar("P", bound=type[Panel])


def panel(cls: P) -> P:
    """Register a panel."""
    panels.add(cls.name, cls)
    return cls


def every() -> list[Panel]:
    """One of each, in the order of the page."""
    return sorted((cls() for cls in panels.all().values()), key=lambda panel: panel.order)


def columns(source: Source) -> dict[str, Column]:
    """The columns of one table, in order; panels may share a column under one key."""
    return {
        key: column
        for panel in every()
        if panel.source == source
        for key, column in panel.columns.items()
    }
