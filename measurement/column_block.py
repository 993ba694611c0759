"""Some requests as arrays: what a ``Sample`` tells of one, for each of them at a place of its own.

Times are float seconds on the run's clock. NaN stands for None: what has no meaning for a request
stays NaN in all that is computed from it, and is equal to nothing and below nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from measurement.outcome import Outcome, TokenSource

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
A = TypeVar("A")

OUTCOMES = tuple(Outcome)
"""An outcome is kept as its place here."""
OUTCOME_CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}
SOURCES = (None, *TokenSource)
"""A token source is kept as its place here."""
SOURCE_CODE = {source: code for code, source in enumerate(SOURCES)}

_GOOD = np.array([outcome.success for outcome in OUTCOMES])


class Kept(Generic[A]):
    """A column that is kept: an attribute of a block, read when it is first asked for."""

    def __init__(self, kind: type[np.generic]) -> None:
        self.dtype: np.dtype[Any] = np.dtype(kind)

    def __set_name__(self, owner: type[Block], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, block: None, owner: type[Block]) -> Kept[A]: ...
    @overload
    def __get__(self, block: Block, owner: type[Block]) -> A: ...
    def __get__(self, block: Block | None, owner: type[Block]) -> Kept[A] | A:
        if block is None:
            return self
        found: A = block.read(self._name)
        block.__dict__[self._name] = found
        return found


class Block:
    """``read`` gives a kept column of these requests by its name; ``size`` is how many they are."""

    index = Kept[Ints](np.int64)
    tenant = Kept[NDArray[np.int32]](np.int32)
    """Its place among the names of the columns."""
    outcome = Kept[NDArray[np.uint8]](np.uint8)
    intended_at = Kept[Floats](np.float64)
    handed_at = Kept[Floats](np.float64)
    admitted_at = Kept[Floats](np.float64)
    sent_at = Kept[Floats](np.float64)
    first_token_at = Kept[Floats](np.float64)
    first_answer_at = Kept[Floats](np.float64)
    last_token_at = Kept[Floats](np.float64)
    done_at = Kept[Floats](np.float64)
    prompt_tokens = Kept[Floats](np.float64)
    output_tokens = Kept[Floats](np.float64)
    token_source = Kept[NDArray[np.uint8]](np.uint8)
    first_chunk_tokens = Kept[Floats](np.float64)
    chunks = Kept[Ints](np.int64)
    attempts = Kept[Ints](np.int64)
    """How many failed before the one that is told of."""
    gap_count = Kept[Ints](np.int64)
    gap_place = Kept[Ints](np.int64)
    """Where its gaps begin among all that are kept."""
    told = Kept[Bools](np.bool_)
    """Whether the stream says how many tokens each gap's chunk carried."""
    told_place = Kept[Ints](np.int64)
    """Where those numbers begin among all that are kept."""
    told_tokens = Kept[Ints](np.int64)
    """All of those numbers together."""
    gap_seconds = Kept[Floats](np.float64)
    """All of its gaps together."""
    gap_weight = Kept[Ints](np.int64)
    """All of their weights together."""
    longest_gap = Kept[Floats](np.float64)

    def __init__(self, read: Callable[[str], Any], size: int) -> None:
        self.read = read
        self.size = size

    def where(self, chosen: Bools) -> Block:
        """Those of them that are chosen."""
        return Block(lambda name: getattr(self, name)[chosen], int(np.count_nonzero(chosen)))

    def became(self, *outcomes: Outcome) -> Bools:
        """Whether its outcome is one of these."""
        return np.isin(self.outcome, [OUTCOME_CODE[outcome] for outcome in outcomes])

    @property
    def success(self) -> Bools:
        """Whether the caller got the answer that was asked for."""
        found: Bools = _GOOD[self.outcome]
        return found

    @property
    def send_lag(self) -> Floats:
        """As of a sample, like all that follow."""
        return self.sent_at - self.intended_at

    @property
    def client_lag(self) -> Floats:
        return self.handed_at - self.intended_at

    @property
    def hold(self) -> Floats:
        return self.admitted_at - self.handed_at

    @property
    def ttft(self) -> Floats:
        return self.first_token_at - self.intended_at

    @property
    def service_ttft(self) -> Floats:
        return self.first_token_at - self.sent_at

    @property
    def ttfat(self) -> Floats:
        return self.first_answer_at - self.intended_at

    @property
    def e2e(self) -> Floats:
        return np.where(self.success, self.done_at - self.intended_at, np.nan)

    @property
    def service_e2e(self) -> Floats:
        return np.where(self.success, self.done_at - self.sent_at, np.nan)

    @property
    def tpot(self) -> Floats:
        span = self.last_token_at - self.first_token_at
        rest = self.output_tokens - self.first_chunk_tokens
        return _over(span, rest, rest > 0)

    @property
    def normalised_latency(self) -> Floats:
        return _over(self.e2e, self.output_tokens, self.output_tokens != 0)

    @property
    def mean_gap(self) -> Floats:
        return _over(self.gap_seconds, self.gap_weight, self.gap_weight > 0)

    @property
    def streamed_tokens(self) -> Ints:
        """What the stream's own count comes to; chunks where it does not say more."""
        k = np.nan_to_num(self.first_chunk_tokens).astype(np.int64)
        return np.where(self.told, np.where(k == 0, 1, k) + self.told_tokens, self.chunks)


def _over(seconds: Floats, tokens: Floats | Ints, known: Bools) -> Floats:
    """Seconds per token where that is known, else NaN."""
    found = np.full(len(seconds), np.nan)
    np.divide(seconds, tokens, out=found, where=known)
    return found
