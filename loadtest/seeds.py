"""NumPy's seeding of random streams, for many keys at once.

A stream of randomness for each request makes the whole the same for any number of workers; but to
seed one costs as much as to draw from it. ``numpy.random.SeedSequence`` mixes 32-bit words (after
O'Neill's ``seed_seq``; NumPy promises never to change the outcome); the same arithmetic on whole
columns of keys gives the same words for a fraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

Words = NDArray[np.uint32]

_POOL = 4
_INIT_A, _MULT_A = 0x43B0D7E5, 0x931E8875
_INIT_B, _MULT_B = 0x8B51F9DD, 0x58F38DED
_MIX_L, _MIX_R = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_SHIFT = np.uint32(16)
_MASK = 0xFFFFFFFF


class Seeded(ISeedSequence):
    """The words that a seed sequence would have given to a PCG64."""

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: Any = np.uint64) -> NDArray[np.uint64]:
        if n_words != len(self._words) or np.dtype(dtype) != np.uint64:
            raise ValueError("these are the four words of 64 bits that a PCG64 asks for")
        return self._words


def seeded(entropy: int, key: tuple[int, ...], numbers: range) -> list[Seeded]:
    """As ``SeedSequence(entropy, spawn_key=(*key, number))`` for each number, all under 2³²."""
    fixed = _words_of(entropy)
    fixed += [0] * (_POOL - len(fixed))  # so that a key is not mistaken for entropy
    fixed += [word for part in key for word in _words_of(part)]
    last = np.array(numbers, dtype=np.uint32)
    columns = [*(np.full(len(last), word, dtype=np.uint32) for word in fixed), last]
    with np.errstate(over="ignore"):
        state = _state_of(_mixed(columns))
    return [Seeded(words) for words in state]


def _words_of(number: int) -> list[int]:
    """Its 32-bit words, the lowest first; one for 0."""
    words = [number & _MASK]
    while number := number >> 32:
        words.append(number & _MASK)
    return words


class _Hash:
    """One multiplier after the other."""

    def __init__(self, constant: int, factor: int) -> None:
        self._constant, self._factor = constant, factor

    def __call__(self, value: Words) -> Words:
        before = self._constant
        self._constant = before * self._factor & _MASK
        value = (value ^ np.uint32(before)) * np.uint32(self._constant)
        return value ^ (value >> _SHIFT)


def _mix(x: Words, y: Words) -> Words:
    result: Words = _MIX_L * x - _MIX_R * y
    return result ^ (result >> _SHIFT)


def _mixed(columns: Sequence[Words]) -> list[Words]:
    hashed = _Hash(_INIT_A, _MULT_A)
    pool = [hashed(columns[place]) for place in range(_POOL)]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = _mix(pool[target], hashed(pool[source]))
    for column in columns[_POOL:]:
        for target in range(_POOL):
            pool[target] = _mix(pool[target], hashed(column))
    return pool


def _state_of(pool: list[Words]) -> NDArray[np.uint64]:
    """Four words of 64 bits a key."""
    hashed = _Hash(_INIT_B, _MULT_B)
    words = np.stack([hashed(pool[place % _POOL]) for place in range(8)], axis=1)
    return np.ascontiguousarray(words).view(np.uint64)
