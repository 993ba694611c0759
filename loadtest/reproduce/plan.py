"""What a reproduction is played with: seeds, size, laws by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from documents.problem import DocumentError, Problem
from loadtest.reproduce.runs import Measured, OneByOne, Play, Runner
from loadtest.reproduce.series import Series
from loadtest.reproduce.table import Cell
from schedulers.decision import DecisionPoint
from schedulers.points import registered

MOST_SCALE = 60.0
"""A shorter hour than a minute has too few requests in a regime's quiet hours."""


def _unheard(share: float) -> None:
    """Nobody asks how far a run is."""


def _uncounted() -> None:
    """Nobody counts runs."""


@dataclass(frozen=True, slots=True)
class Plan:
    """``seeds``: one run of everything with each; ``reduced``: shorter, with the same shape."""

    seeds: Sequence[int]
    reduced: bool = False
    scale: float | None = None
    """How many times shorter than its own a system's day is played; None: as the system does."""
    part: Callable[[float], None] = field(default=_unheard, compare=False)
    """Told by a long run what share of it is over, 0 to 1."""
    ended: Callable[[], None] = field(default=_uncounted, compare=False)
    """Told of each run that is over."""
    runner: Runner = field(default_factory=OneByOne, compare=False)
    """What makes the runs."""


def measure(plan: Plan, play: Play) -> Mapping[str, Series]:
    """Play once with each seed; every number as a series, to be waited for where it is read.

    ``play`` is a module's function or a partial of one, so that another process can run it.
    """
    return Measured(plan.runner.begin(play, plan.seeds, lambda _seed, _numbers: plan.ended()))


def check_scale(scale: float | None, *, has_day: bool, reduced: bool, plays_day: bool) -> None:
    """DocumentError where a plan can't have that scale, the same wherever it is asked for.

    ``has_day``: a system has one. ``plays_day``: it is what is played, in virtual time.
    """
    if scale is None:
        return
    if not plays_day:
        message = "is of a day in virtual time; it goes with neither HTTP nor a configuration"
    elif reduced:
        message = "has a size of its own when reduced; leave one of them out"
    elif not has_day:
        message = "is of a day, and this system plays none"
    elif not 1 <= scale <= MOST_SCALE:
        message = f"must be from 1 (the whole day) to {MOST_SCALE:g} (each hour in a minute)"
    else:
        return
    raise DocumentError([Problem("scale", scale, message)])


def law(point: DecisionPoint, name: str, **parameters: Any) -> Any:
    """A law by its name, with its defaults where no parameter says otherwise."""
    cls: Any = registered(point)[name]
    return cls(**parameters)


def cell(value: Series | float | str | None, note: str = "") -> Cell | None:
    """A cell, or none."""
    return None if value is None else Cell(value, note)
