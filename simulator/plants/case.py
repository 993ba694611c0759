"""What a listed plant is: a way to play one law with one seed, and the bars for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from schedulers.decision import DecisionPoint

Numbers = Mapping[str, float]

REQUEST_LAWS = (
    "adaptive_bdp", "aimd", "arc", "fixed", "gradient2", "gradient_reference", "slo_gradient",
    "vegas",
)  # fmt: skip
"""Laws that count requests: those that count agents would stand at their initial limit."""


class Maker(Protocol):
    """Makes the law under test; ``initial`` where a scenario starts it warm."""

    def __call__(self, *, initial: int | None = None) -> Any: ...


@dataclass(frozen=True, slots=True)
class Bar:
    """``measure`` must be at most (or at least) ``bound``: in the mean, or for each seed.

    ``aim``: a bar of the design that the recommended law doesn't reach; it is shown, and fails no
    check.
    """

    measure: str
    bound: float
    least: bool = False
    each: bool = False
    aim: bool = False

    def met(self, values: list[float]) -> bool:
        held = self.value(values)
        return held >= self.bound - 1e-9 if self.least else held <= self.bound + 1e-9

    def value(self, values: list[float]) -> float:
        """The number that is held against the bound."""
        if self.each:
            return min(values) if self.least else max(values)
        return sum(values) / len(values)


@dataclass(frozen=True, slots=True)
class Case:
    """One way to play a scenario. ``optimum`` says in words what could be reached at best.

    ``judged`` is the law that ``--check`` holds to the bars where none is named; ``laws``: those
    that the plant means anything to, None for all of the point.
    """

    scenario: str
    label: str
    optimum: str
    play: Callable[[Maker, int], Numbers]
    bars: tuple[Bar, ...]
    point: DecisionPoint = DecisionPoint.CONCURRENCY
    judged: str = "adaptive_bdp"
    laws: tuple[str, ...] | None = None
