"""The sequences that decode, moved on all together: a step costs the same for one or a thousand.

In a step of nothing but decodes every sequence says one token. So one counter of decode steps
stands for all of them, their finishing times are known in steps from the moment they join, and
how many cross into a new block in a step depends on the step's number modulo the block size alone.
A stretch of such steps, in which nobody comes or goes, has a closed form for its time:

    end of step j = start + j·c + t_kv · (j·K + B·j·(j − 1)/2)

which both a host that goes step by step and one that leaps evaluate, so both have the same times.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from simulator.core.cost import StepCost
from simulator.core.request import Sequence
from simulator.core.ticks import Ticks


class Decoding(Ticks):
    """``count`` sequences that have read ``context`` tokens in all, after ``tick`` steps."""

    def __init__(self, cost: StepCost, block_size: int, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.count = 0
        self.context = 0
        self._cost = cost
        self._size = block_size
        self._crossing = [0] * block_size
        """How many take a new block in the steps whose number leaves this remainder."""
        self._finishing: list[tuple[int, int, Sequence]] = []
        self._anchor: tuple[int, float, float, int] | None = None
        """Stretch under way: first step, its start, a step's fixed milliseconds, context."""

    def join(self, sequence: Sequence) -> None:
        """It has prefilled and said its token; from the next step on it decodes."""
        sequence.decoding, sequence.since = self, self.tick
        self.count += 1
        computed, emitted = sequence.settled_computed, sequence.settled_emitted
        self.context += computed
        self._crossing[(self.tick - computed) % self._size] += 1
        self._anchor = None
        sequence.done_tick = last = self.tick + sequence.request.output_tokens - emitted
        heapq.heappush(self._finishing, (last, sequence.place, sequence))

    def leave(self, sequence: Sequence) -> None:
        """It is preempted, aborted or done, or no budget is left to it in this step."""
        if sequence.decoding is None:
            return
        self.count -= 1
        computed = sequence.computed
        self.context -= computed
        self._crossing[(self.tick - computed) % self._size] -= 1
        self._anchor = None
        sequence.settle()

    @property
    def demand(self) -> int:
        """Blocks that the next step takes."""
        return self._crossing[self.tick % self._size]

    def demand_of(self, steps: int) -> int:
        """Blocks that so many steps take."""
        size = self._size
        rounds, rest = divmod(steps, size)
        first = self.tick % size
        last = first + rest
        more = sum(self._crossing[first:last])
        if last > size:
            more += sum(self._crossing[: last - size])
        return rounds * self.count + more

    def affordable(self, steps: int, blocks: int) -> int:
        """The most of so many steps that take no more than ``blocks`` blocks."""
        if self.demand_of(steps) <= blocks:
            return steps
        low, high = 0, steps
        while high - low > 1:
            middle = (low + high) // 2
            if self.demand_of(middle) <= blocks:
                low = middle
            else:
                high = middle
        return low

    @property
    def steps_to_finish(self) -> int:
        """Steps until the first of them is done, that one included."""
        finishing = self._finishing
        while finishing[0][2].done_tick != finishing[0][0]:
            heapq.heappop(finishing)
        return finishing[0][0] - self.tick

    def anchor(self, now: float, padded: int) -> None:
        """A step of decodes alone begins: it goes on a stretch, or starts one."""
        if self._anchor is None or self.last_end != now:
            cost = self._cost
            fixed = cost.t0_ms + math.hypot(cost.t_w_ms, cost.t_c_ms * padded)
            fixed += cost.t_s_ms * self.count
            self._anchor = (self.tick, now, fixed, self.context)

    def end_after(self, steps: int) -> float:
        """When the stretch's next ``steps`` steps will be over."""
        assert self._anchor is not None  # noqa: S101 - anchored before
        first, start, fixed, context = self._anchor
        done = self.tick - first + steps
        read = done * context + self.count * (done * (done - 1) // 2)
        return start + 1e-3 * (done * fixed + self._cost.t_kv_ms * read)

    def steps_before(self, moment: float, most: int) -> int:
        """Steps of the stretch that begin before a moment: 1 to ``most``."""
        if self.end_after(most - 1) < moment:
            return most
        steps = max(1, min(most, self._guess(moment)))
        while steps > 1 and self.end_after(steps - 1) >= moment:
            steps -= 1
        while steps < most and self.end_after(steps) < moment:
            steps += 1
        return steps

    def _guess(self, moment: float) -> int:
        """The closed form solved for the step: right but for rounding."""
        assert self._anchor is not None  # noqa: S101 - anchored before
        first, start, fixed, context = self._anchor
        square = self._cost.t_kv_ms * self.count / 2
        line = fixed + self._cost.t_kv_ms * context - square
        time = (moment - start) * 1e3
        root = math.sqrt(line * line + 4 * square * time)
        return math.ceil(2 * time / (line + root)) - (self.tick - first)

    def advance(self, steps: int, end: float) -> None:
        """So many steps were taken, the last of them until ``end``."""
        if self.ends is not None:
            self._keep(steps, end)
        self.tick += steps
        self.context += self.count * steps
        self.last_end = end

    def _keep(self, steps: int, end: float) -> None:
        assert self.ends is not None  # noqa: S101 - asked before
        if steps == 1 or self._anchor is None:
            self.ends.append(end)
            return
        first, start, fixed, context = self._anchor
        done = np.arange(self.tick - first + 1, self.tick - first + steps + 1)
        read = done * context + self.count * (done * (done - 1) // 2)
        times = start + 1e-3 * (done * fixed + self._cost.t_kv_ms * read)
        self.ends.frombytes(times.tobytes())

    def interrupt(self) -> None:
        """A step with prefills in it: the stretch is over."""
        self._anchor = None

    def take_finished(self) -> list[Sequence]:
        """Those that have said all by now leave, in the batch's order within a step."""
        finishing, done = self._finishing, list[Sequence]()
        while finishing and finishing[0][0] <= self.tick:
            last, _, sequence = heapq.heappop(finishing)
            if sequence.done_tick == last:  # who left and came back has another entry
                self.leave(sequence)
                done.append(sequence)
        return done
