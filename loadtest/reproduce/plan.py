"""What a reproduction is played with: seeds, size, laws by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadtest.reproduce.series import Series
from loadtest.reproduce.table import Cell
from schedulers.decision import DecisionPoint
from schedulers.points import registered


@dataclass(frozen=True, slots=True)
class Plan:
    """``seeds``: one run of everything with each; ``reduced``: shorter, with the same shape."""

    seeds: Sequence[int]
    reduced: bool = False


def law(point: DecisionPoint, name: str, **parameters: Any) -> Any:
    """A law by its name, with its defaults where no parameter says otherwise."""
    cls: Any = registered(point)[name]
    return cls(**parameters)


def cell(value: Series | float | str | None, note: str = "") -> Cell | None:
    """A cell, or none."""
    return None if value is None else Cell(value, note)
