"""Faults strike the share that was asked, the same requests each time."""

from __future__ import annotations

from collections import Counter

import pytest

from documents.parse import build
from documents.problem import DocumentError
from simulator.faults import Fault, Faults


def test_no_fault_is_the_default() -> None:
    assert {Faults().strike(index) for index in range(100)} == {None}


def test_shares_are_kept() -> None:
    faults = Faults(rate_limit=0.1, stall=0.25, disconnect=0.05)
    struck = Counter(faults.strike(index) for index in range(20_000))
    assert struck[Fault.RATE_LIMIT] / 20_000 == pytest.approx(0.1, abs=0.01)
    assert struck[Fault.STALL] / 20_000 == pytest.approx(0.25, abs=0.015)
    assert struck[Fault.DISCONNECT] / 20_000 == pytest.approx(0.05, abs=0.01)
    assert struck[Fault.SLOW] == 0


def test_a_seed_strikes_the_same_requests() -> None:
    one, again, other = (Faults(stall=0.5, seed=seed) for seed in (1, 1, 2))
    hit = [[faults.strike(index) for index in range(200)] for faults in (one, again, other)]
    assert hit[0] == hit[1] != hit[2]


def test_all_can_be_struck() -> None:
    assert {Faults(slow=1.0).strike(index) for index in range(500)} == {Fault.SLOW}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"stall": 0.6, "slow": 0.6}, "add up to more than 1"),
        ({"stall": 1.5}, "from 0 to 1"),
        ({"stal": 0.5}, "did you mean 'stall'"),
        ({"metrics": "odd"}, "one of live, frozen, missing"),
    ],
)
def test_a_document_that_makes_no_sense_is_told(given: dict[str, object], told: str) -> None:
    with pytest.raises(DocumentError, match=told):
        build(Faults, given)


def test_a_document_and_back() -> None:
    faults = Faults(stall=0.5, stall_s=2.0, metrics="frozen", seed=4)
    assert build(Faults, faults.to_document()) == faults
