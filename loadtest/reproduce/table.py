"""What a reproduction gives: rows of numbers under five heads, what they show, and curves."""

from __future__ import annotations

from dataclasses import dataclass

from loadtest.reproduce.curve import Curve
from loadtest.reproduce.series import Series

HEADS = ("claimed", "reference law", "corrected law", "best fixed setting", "optimum")


@dataclass(frozen=True, slots=True)
class Cell:
    """A measured number, or one that is known without measuring, or words; ``note`` behind it."""

    value: Series | float | str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measure of one case. None: it has no such number."""

    case: str
    measure: str
    unit: str = ""
    claimed: Cell | None = None
    reference: Cell | None = None
    corrected: Cell | None = None
    best_fixed: Cell | None = None
    optimum: Cell | None = None

    @property
    def cells(self) -> tuple[Cell | None, ...]:
        """In the order of HEADS."""
        return (self.claimed, self.reference, self.corrected, self.best_fixed, self.optimum)


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence that explains a difference, and whether the numbers of this run support it."""

    sentence: str
    holds: bool


ENOUGH_SEEDS = 3
"""Of two, a 95 % interval reaches 6.4 times their distance to either side: it tells nothing."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One system, played."""

    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    curves: tuple[Curve, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every finding does."""
        return all(finding.holds for finding in self.findings)
