"""The book of a comparison: samples go in as they are resolved, blocks come out in order.

A block is closed once its slots are over and every request that they count has its sample, so a
block never rests on the quick ones alone.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loadtest.ab.lateness import Lateness
from loadtest.ab.order import Order
from loadtest.ab.replay import Place, Replay
from measurement.cohort import Cohort, CohortBuilder
from measurement.comparison.assignment import Arm, Slot
from measurement.comparison.block import ArmCounts, Block, count_arm
from measurement.doubted import NOTHING, Doubted
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.slo import judge

_NO_CONNECTION = frozenset((Outcome.CONNECT, Outcome.DNS, Outcome.TLS, Outcome.TIMEOUT_CONNECT))


@dataclass(frozen=True, slots=True)
class Closed:
    """One closed block with what each arm measured in it."""

    block: Block
    cohorts: Mapping[Arm, Cohort]


class BlockBook:
    """Counts one order's samples. ``engines`` are fingerprints by lane."""

    def __init__(self, order: Order, replay: Replay, engines: Mapping[str, str]) -> None:
        self._order = order
        self._replay = replay
        self._engines = engines
        self._expected = replay.expected  # reckoned before the load begins
        self._samples: dict[Place, list[Sample]] = defaultdict(list)
        self._doubted: dict[Place, Doubted] = defaultdict(Doubted)
        self._ran: dict[Place, set[str]] = defaultdict(set)
        self._lateness = {arm: Lateness() for arm in Arm}
        self._next = 0
        self._frozen = False
        self.totals: dict[Arm, Cohort] = {arm: Cohort() for arm in Arm}
        """What each arm measured in the closed blocks."""
        self.blocks: list[Block] = []

    def take(self, lane: str, sample: Sample, doubted: Doubted = NOTHING) -> None:
        """A request was resolved; its first token may be ``doubted``."""
        slot = self._replay.slot(lane, sample.intended_at)
        if slot is None or self._frozen or slot.block < self._next:
            return
        index = self._replay.index(sample.index)
        if index != sample.index:
            sample = dataclasses.replace(sample, index=index)
        self._samples[slot.block, slot.arm].append(sample)
        if doubted.doubted and not self._turns(sample, doubted.error):
            doubted = Doubted(doubted.answers)
        self._doubted[slot.block, slot.arm] += doubted

    def _turns(self, sample: Sample, error: float) -> bool:
        """Whether a first token that came sooner by ``error`` would be judged otherwise."""
        if sample.first_token_at is None:
            return False
        sooner = dataclasses.replace(sample, first_token_at=sample.first_token_at - error)
        of = self._order
        was, would_be = (
            count_arm([one], of.load.slo, of.plan.criteria).counts for one in (sample, sooner)
        )
        return was != would_be

    def ran(self, slot: Slot, policy: str) -> None:
        """The slot's lane was seen to run that policy while the slot counted."""
        self._ran[slot.block, slot.arm].add(policy)

    def freeze(self) -> None:
        """Nothing more is taken: what is resolved from now on was given up, not measured."""
        self._frozen = True

    def close(self, now: float) -> Iterator[Closed]:
        """The blocks that are complete by ``now`` and were not given out yet, in order."""
        timetable = self._order.timetable
        while self._next < self._order.plan.blocks and not self._frozen:
            index = self._next
            if now < timetable.ends(index) or not self._complete(index):
                return
            self._next += 1
            closed = self._close(index)
            self.blocks.append(closed.block)
            for arm, cohort in closed.cohorts.items():
                self.totals[arm] = self.totals[arm].merge(cohort)
            yield closed

    def lateness(self, arm: Arm) -> Lateness:
        """How punctual the client was for one arm."""
        return self._lateness[arm]

    def _complete(self, index: int) -> bool:
        expected = self._expected
        return all(len(self._samples[index, arm]) >= expected.get((index, arm), 0) for arm in Arm)

    def _close(self, index: int) -> Closed:
        timetable = self._order.timetable
        slots = {slot.arm: slot for slot in timetable.slots(index)}
        counted = {arm: self._count(slots[arm]) for arm in Arm}
        cohorts = {arm: self._cohort(self._samples.pop((index, arm), [])) for arm in Arm}
        return Closed(
            Block(
                index=index,
                order=timetable.order(index),
                ended_at=timetable.ends(index),
                baseline=counted[Arm.BASELINE],
                candidate=counted[Arm.CANDIDATE],
            ),
            cohorts,
        )

    def _count(self, slot: Slot) -> ArmCounts:
        place = slot.block, slot.arm
        samples = self._samples[place]
        late = self._lateness[slot.arm]
        late.add(samples, self._doubted.pop(place, NOTHING))
        counts = count_arm(
            samples,
            self._order.load.slo,
            self._order.plan.criteria,
            origin=slot.start,
            policies=self._ran.pop(place, set()),
            engines=[self._engines[slot.lane]],
        )
        faults = (*counts.faults, *late.faults(), *self._silent(slot.lane, samples))
        return dataclasses.replace(counts, faults=faults)

    def _silent(self, lane: str, samples: list[Sample]) -> Iterator[str]:
        """An engine that is not there says nothing about the policy before it."""
        if samples and all(sample.outcome in _NO_CONNECTION for sample in samples):
            yield (
                f"The engine of lane {lane} could not be connected to: {samples[0].error}. "
                "That says nothing of a policy. See that it is up, and start anew."
            )

    def _cohort(self, samples: list[Sample]) -> Cohort:
        builder = CohortBuilder()
        for sample in samples:
            builder.offered(sample.tenant)
            judgement = judge(sample, self._order.load.slo)
            # The gaps of every token are most of the work, and no number here is of them.
            builder.resolved(dataclasses.replace(sample, gaps=(), gap_tokens=None), judgement)
        return builder.freeze()


def washout_was_short(totals: Mapping[Arm, Cohort], washout: float) -> float | None:
    """P99 of E2E over both arms in seconds where it is longer than the washout; else None."""
    longest = max((cohort.e2e.percentile(99) or 0.0 for cohort in totals.values()), default=0.0)
    return longest if longest > washout and math.isfinite(longest) else None
