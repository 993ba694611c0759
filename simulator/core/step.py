"""What steps of the engine did: one in full, or a stretch of equal ones at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from simulator.core.request import Sequence


@dataclass(frozen=True, slots=True)
class Step:
    """One iteration of the model: begun, costed and done. Times are model seconds.

    Every sequence in ``emitted`` has one more token, at ``end``. The counts of running, waiting and
    used blocks are those while the step ran, before what finished in it went away.
    """

    index: int
    start: float
    end: float
    tokens: int
    """Scheduled tokens, without graph padding."""
    prefill_tokens: int
    context: int
    sequences: int
    emitted: tuple[Sequence, ...]
    finished: tuple[Sequence, ...]
    preempted: tuple[Sequence, ...]
    running: int
    waiting: int
    used_blocks: int
    freed_blocks: int = 0
    """Blocks that nobody uses any more once the step is over."""
    pairs: float = 0.0
    """Attention pairs of prefills."""

    @property
    def duration(self) -> float:
        return self.end - self.start

    def record(self) -> dict[str, Any]:
        """The step as plain values: what two replays are compared by, and a step log's line."""
        return {
            "index": self.index,
            "start": self.start,
            "end": self.end,
            "tokens": self.tokens,
            "prefill_tokens": self.prefill_tokens,
            "context": self.context,
            "sequences": self.sequences,
            "emitted": [sequence.request.id for sequence in self.emitted],
            "finished": [sequence.request.id for sequence in self.finished],
            "preempted": [sequence.request.id for sequence in self.preempted],
            "running": self.running,
            "waiting": self.waiting,
            "used_blocks": self.used_blocks,
        }


class Stretch(NamedTuple):
    """``steps`` steps at once: one of any kind, or many of decodes alone that differ in nothing.

    ``tokens`` counts the output tokens said, at the end of each step as many. The other counts are
    those while the last step ran.
    """

    steps: int
    start: float
    end: float
    tokens: int
    finished: tuple[Sequence, ...]
    preempted: tuple[Sequence, ...]
    running: int
    waiting: int
    used_blocks: int
    spoke: tuple[Sequence, ...] = ()
    """Those whose prefill ended in it."""
