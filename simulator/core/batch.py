"""One step as it is being put together."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.core.request import Sequence


class Batch:
    """What runs in a step, and what that costs."""

    __slots__ = (
        "completing", "context", "decodes", "left", "pairs", "preempted", "prefill_tokens",
        "prefills", "sequences", "skipped", "start", "swapped", "tokens",
    )  # fmt: skip

    def __init__(self, start: float, budget: int) -> None:
        self.start = start
        self.left = budget
        self.tokens = 0
        self.sequences = 0
        self.prefill_tokens = 0
        self.context = 0
        self.pairs = 0.0
        self.decodes = False
        """Whether the decoding ones take part."""
        self.prefills: list[Sequence] = []
        self.completing: list[Sequence] = []
        """Those whose prefill ends, which say a token."""
        self.skipped: list[Sequence] = []
        """Decoding ones for whom no budget was left."""
        self.preempted: list[Sequence] = []
        self.swapped = 0
        """Tokens moved between the engine and the host's memory."""

    def emitting(self, running: Iterable[Sequence]) -> list[Sequence]:
        """Who of the batch says a token in this step, in its order."""
        if not self.completing:
            return [each for each in running if self.decodes and each.decoding is not None]
        ending = set(self.completing)
        return [
            each
            for each in running
            if each in ending or (self.decodes and each.decoding is not None)
        ]

    def decode(self, count: int, context: int) -> None:
        """The decoding ones take part: so many, who read so many tokens."""
        self.decodes = count > 0
        self.tokens += count
        self.left -= count
        self.sequences += count
        self.context += context

    def prefill(self, sequence: Sequence, chunk: int) -> None:
        """Compute ``chunk`` tokens of a sequence whose blocks are there."""
        done = sequence.settled_computed
        if chunk == 1 and done >= sequence.request.prompt_tokens:
            self.context += done  # the last token of one that was preempted: a decode but in name
        else:
            self.prefill_tokens += chunk
            self.pairs += chunk * (done + chunk / 2)
        self.tokens += chunk
        self.left -= chunk
        self.sequences += 1
        self.prefills.append(sequence)
        sequence.settled_computed = done + chunk
        if done + chunk == sequence.request.prompt_tokens + sequence.settled_emitted:
            self.completing.append(sequence)
