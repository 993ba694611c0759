"""Who runs where and when: a stored seed draws each block, and slots say which request counts.

Lanes: in each block one of two equal lanes, P or Q, runs the candidate and the other the baseline.
Switchback: a block is a pair of adjacent slots on one engine, in the order AB (baseline first) or
BA. The draw is what makes differences between lanes, or between one minute and the next, noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

from documents.problem import DocumentError, Problem

REQUESTS = 40
"""A slot is long enough for so many requests an arm."""
E2E_MULTIPLE = 5
LEAST_FLOOR = 1.0
_COIN = 0
"""The purpose of the draw; part of what a seed means."""


class Arm(StrEnum):
    """The two sides of a comparison."""

    BASELINE = "baseline"
    CANDIDATE = "candidate"

    @property
    def other(self) -> Arm:
        """The one that it is compared with."""
        return Arm.BASELINE if self is Arm.CANDIDATE else Arm.CANDIDATE


class Design(StrEnum):
    """How arms are kept apart."""

    LANES = "lanes"
    SWITCHBACK = "switchback"


ORDERS = {Design.LANES: ("P", "Q"), Design.SWITCHBACK: ("AB", "BA")}
"""What a draw of 0 or 1 means: the candidate's lane, or the order of the pair."""
WHOLE = "P"
"""The only lane of a switchback."""


@lru_cache(maxsize=1 << 14)
def draw(seed: int, block: int, design: Design) -> str:
    """The order of one block, fixed by the seed; each block's draw stands alone.

    It reads the seed sequence itself, whose output numpy keeps the same between versions.
    """
    state = np.random.SeedSequence(seed, spawn_key=(_COIN, block)).generate_state(1)
    return ORDERS[design][int(state[0]) >> 31]


def slot_length(*, washout: float, floor: float, median_e2e: float, rate: float) -> float:
    """Seconds of a slot: its washout, and what it takes to see requests begin and end.

    ``rate`` is requests per second and arm.
    """
    if not (rate > 0 and floor >= LEAST_FLOOR):
        raise ValueError("a slot needs a rate above 0 and a floor of at least 1 s")
    return washout + max(floor, E2E_MULTIPLE * median_e2e, REQUESTS / rate)


@dataclass(frozen=True, slots=True)
class Slot:
    """One arm's time on one lane; what is intended before ``counts_from`` is washout."""

    block: int
    arm: Arm
    lane: str
    start: float
    counts_from: float
    end: float

    def counts(self, intended_at: float) -> bool:
        """Whether a request of that intended start belongs to it."""
        return self.counts_from <= intended_at < self.end


@dataclass(frozen=True, slots=True)
class Timetable:
    """Every slot of a comparison, in seconds from its start.

    ``weight`` is the candidate's share: of traffic for lanes (each lane takes so much), of time
    for a switchback. What is left over is served by the baseline and not compared.
    """

    design: Design
    seed: int
    length: float
    washout: float
    weight: float = 0.5

    def __post_init__(self) -> None:
        problems = []
        if not 0 <= self.washout < self.length:
            message = f"must be from 0 to under the slot's length, {self.length:g} s"
            problems.append(Problem("washout", self.washout, message))
        if not 0 < self.weight <= 0.5:
            message = "must be above 0 and up to 0.5: both arms take as much"
            problems.append(Problem("weight", self.weight, message))
        if problems:
            raise DocumentError(problems)

    @property
    def cycle(self) -> float:
        """Seconds from one block's start to the next one's."""
        return self.length / self.weight if self.design is Design.SWITCHBACK else self.length

    def order(self, block: int) -> str:
        """What was drawn for the block."""
        return draw(self.seed, block, self.design)

    def slots(self, block: int) -> tuple[Slot, ...]:
        """The two slots of a block: side by side on lanes, or one after the other."""
        start, order = block * self.cycle, self.order(block)
        if self.design is Design.LANES:
            other = "Q" if order == "P" else "P"
            return (
                self._slot(block, Arm.BASELINE, other, start),
                self._slot(block, Arm.CANDIDATE, order, start),
            )
        first = Arm.BASELINE if order == "AB" else Arm.CANDIDATE
        return (
            self._slot(block, first, WHOLE, start),
            self._slot(block, first.other, WHOLE, start + self.length),
        )

    def slot_at(self, intended_at: float, lane: str = WHOLE) -> Slot | None:
        """The slot that a request belongs to; None in a washout, and where nothing is compared."""
        if intended_at < 0:
            return None
        near = int(intended_at / self.cycle)
        for block in (near, near + 1, near - 1):
            for slot in self.slots(block) if block >= 0 else ():
                if slot.lane == lane and slot.counts(intended_at):
                    return slot
        return None

    def ends(self, block: int) -> float:
        """When the block's last slot is over."""
        return max(slot.end for slot in self.slots(block))

    def _slot(self, block: int, arm: Arm, lane: str, start: float) -> Slot:
        return Slot(block, arm, lane, start, start + self.washout, start + self.length)
