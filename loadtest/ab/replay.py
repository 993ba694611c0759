"""What each lane is asked, and the block and arm that each of its requests belongs to.

On two lanes both are asked the one schedule. In a switchback each block's requests are asked
twice, in its two slots, at the same offsets and of the same lengths, with words of their own:
request i of the schedule has the indices 2i and 2i + 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loadtest.ab.order import Order, Where
from loadtest.arrivals.base import Instants
from loadtest.schedule import Job, Schedule
from loadtest.workloads.base import Shape
from measurement.comparison.assignment import Arm, Slot

_MICRO = 1e6

Place = tuple[int, Arm]
"""A block's index and one of its arms."""


class LaneSchedule(Schedule):
    """The base schedule with instants at whole microseconds, which survive every sum exactly."""

    @cached_property
    def instants(self) -> Instants:
        last = np.floor(self.duration * _MICRO) - 1
        found: Instants = np.minimum(np.round(super().instants * _MICRO), last) / _MICRO
        return found


class SwitchbackSchedule(LaneSchedule):
    """Each block's requests in both of its slots."""

    def __init__(self, order: Order, salt: str) -> None:
        load = order.load
        super().__init__(
            load.arrivals, load.workload, duration=load.duration_s, seed=load.seed, salt=salt
        )
        self.base_instants = self.instants
        self.duration = order.seconds
        self._length = order.block_s
        self._blocks = order.plan.blocks

    @property
    def offered(self) -> int:
        return 2 * len(self.base_instants)

    def jobs(self) -> Iterator[Job]:
        blocks = np.floor_divide(self.base_instants, self._length).astype(int)
        for block in range(self._blocks):
            members = np.flatnonzero(blocks == block).tolist()
            for slot in (0, 1):
                later = (2 * block + slot - block) * self._length
                for index in members:
                    at = round(float(self.base_instants[index]) + later, 6)
                    yield Job(2 * index + slot, at, self.shape(2 * index + slot))

    def shape(self, index: int) -> Shape:
        return super().shape(index // 2)


@dataclass(frozen=True)
class Replay:
    """One order's schedules and places. ``salt`` fixes the words of the prompts."""

    order: Order
    salt: str

    @property
    def lanes(self) -> tuple[str, ...]:
        """Their names."""
        return ("P",) if self.order.where is Where.SWITCHBACK else ("P", "Q")

    def schedule(self) -> Schedule:
        """What one lane is asked: the same for each."""
        load = self.order.load
        if self.order.where is Where.SWITCHBACK:
            return SwitchbackSchedule(self.order, self.salt)
        return LaneSchedule(
            load.arrivals,
            load.workload,
            duration=load.duration_s,
            seed=load.seed,
            salt=self.salt,
        )

    def slots(self, lane: str) -> Iterator[Slot]:
        """The lane's slots in order of time."""
        timetable = self.order.timetable
        for block in range(self.order.plan.blocks):
            own = (slot for slot in timetable.slots(block) if slot.lane == lane)
            yield from sorted(own, key=lambda slot: slot.start)

    def slot(self, lane: str, intended_at: float) -> Slot | None:
        """The slot that counts a request; None in a washout."""
        length = self.order.block_s
        turn = round(intended_at * _MICRO) // round(length * _MICRO)
        slots = self._by_turn[lane]
        found = slots[min(int(turn), len(slots) - 1)]
        offset = round((intended_at - found.start) * _MICRO)
        return found if offset >= round(self.order.washout_s * _MICRO) else None

    def index(self, index: int) -> int:
        """The place in the schedule of a request that a lane knows by ``index``."""
        return index // 2 if self.order.where is Where.SWITCHBACK else index

    @cached_property
    def expected(self) -> Mapping[Place, int]:
        """How many requests each arm of each block counts."""
        found: Counter[Place] = Counter()
        for lane in self.lanes:
            for job in self.schedule().jobs():
                slot = self.slot(lane, job.intended_at)
                if slot is not None:
                    found[slot.block, slot.arm] += 1
        return found

    @cached_property
    def _by_turn(self) -> Mapping[str, list[Slot]]:
        return {lane: list(self.slots(lane)) for lane in self.lanes}
