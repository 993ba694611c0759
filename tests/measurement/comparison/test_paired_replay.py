"""Twins by schedule index, or a refusal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurement.column_builder import columns_of
from measurement.comparison.paired_replay import UnequalStimulus, pair
from measurement.outcome import Outcome
from measurement.sample import Sample
from tests.measurement.builders import answered, failed


def asked(count: int = 5, shift: float = 0.0, **changes: Any) -> list[Sample]:
    return [answered(k, at=k / 10 + shift, **changes) for k in range(count)]


@given(st.permutations(range(5)), st.floats(0, 1e4))
def test_twins_meet_whatever_their_order_and_whenever_the_second_began(
    order: list[int], shift: float
) -> None:
    theirs = [failed(Outcome.REJECTED_429, k, at=k / 10 + shift) for k in order]
    pairs = pair(columns_of(asked()), columns_of(theirs), shift=shift)
    assert pairs.index.tolist() == [0, 1, 2, 3, 4]
    assert pairs.baseline.tolist() == pairs.candidate.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("theirs", "reason"),
    [
        (asked(4), "1 requests of the baseline's schedule were never the candidate's"),
        (asked(6), "1 requests of the candidate's schedule were never the baseline's"),
        (asked(shift=0.001), "5 requests had another time"),
        (asked(tenant="other"), "5 requests had another tenant"),
        (asked(prompt_tokens=11), "5 requests had another prompt length"),
        ([*asked(), asked()[2]], "1 of the candidate's requests have more than one sample"),
    ],
)
def test_arms_that_were_not_asked_the_same_are_refused(theirs: list[Sample], reason: str) -> None:
    with pytest.raises(UnequalStimulus) as refused:
        pair(columns_of(asked()), columns_of(theirs))
    assert refused.value.reasons[0].startswith(reason)


def test_a_length_that_only_one_arm_knows_is_no_difference() -> None:
    assert len(pair(*map(columns_of, (asked(), asked(prompt_tokens=None))))) == 5
