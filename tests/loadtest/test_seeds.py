"""Seeds made many at a time are NumPy's own, so a scenario's seed means what it always meant."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.seeds import seeded


@given(
    entropy=st.integers(0, 2**128 - 1),
    salt=st.integers(0, 2**64 - 1),
    first=st.integers(0, 2**32 - 9),
)
def test_the_streams_are_those_of_a_seed_sequence_for_each_key(
    entropy: int, salt: int, first: int
) -> None:
    numbers = range(first, first + 8, 3)
    for number, ours in zip(numbers, seeded(entropy, (4, salt), numbers), strict=True):
        theirs = np.random.SeedSequence(entropy, spawn_key=(4, salt, number))
        assert ours.generate_state(4).tolist() == theirs.generate_state(4, np.uint64).tolist()
        one, other = (np.random.Generator(np.random.PCG64(seed)) for seed in (ours, theirs))
        assert one.integers(0, 340, 9).tolist() == other.integers(0, 340, 9).tolist()


def test_only_what_a_pcg64_asks_for_can_be_had() -> None:
    (made,) = seeded(7, (1,), range(1))
    with pytest.raises(ValueError, match="four words"):
        made.generate_state(8)
