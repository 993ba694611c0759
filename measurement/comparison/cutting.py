"""From samples to blocks: each sample to the slot of its intended start, each slot to its arm."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from measurement.comparison.assignment import WHOLE, Arm, Slot, Timetable
from measurement.comparison.block import ArmCounts, Block, count_arm
from measurement.comparison.criterion import Criterion
from measurement.sample import Sample
from measurement.slo import Slo


@dataclass(frozen=True)
class Cutter:
    """What it takes to count a block: when slots are, what is bad, and who ran."""

    timetable: Timetable
    slo: Slo | None
    criteria: tuple[Criterion, ...]
    policies: Mapping[Arm, str]
    """The policy document's hash that each arm was seen to run."""
    engines: Mapping[str, str]
    """The engine's fingerprint by lane."""

    def blocks(self, lanes: Mapping[str, Iterable[Sample]], count: int) -> list[Block]:
        """The first ``count`` blocks, from the resolved samples of each lane.

        What falls into a washout, or where nothing is compared, is left out.
        """
        by_slot: dict[Slot, list[Sample]] = defaultdict(list)
        for lane, samples in lanes.items():
            for sample in samples:
                slot = self.timetable.slot_at(sample.intended_at, lane)
                if slot is not None and slot.block < count:
                    by_slot[slot].append(sample)
        return [self._block(index, by_slot) for index in range(count)]

    def _block(self, index: int, by_slot: Mapping[Slot, list[Sample]]) -> Block:
        arms = {
            slot.arm: self._arm(slot, by_slot.get(slot, [])) for slot in self.timetable.slots(index)
        }
        return Block(
            index=index,
            order=self.timetable.order(index),
            ended_at=self.timetable.ends(index),
            baseline=arms[Arm.BASELINE],
            candidate=arms[Arm.CANDIDATE],
        )

    def _arm(self, slot: Slot, samples: list[Sample]) -> ArmCounts:
        engine = self.engines.get(slot.lane, self.engines.get(WHOLE, ""))
        return count_arm(
            samples,
            self.slo,
            self.criteria,
            origin=slot.start,
            policies=[self.policies[slot.arm]],
            engines=[engine] if engine else [],
        )
