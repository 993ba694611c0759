"""Arms and lanes follow from the seed alone, in the shares that were asked for."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.assignment import Arm, Canary, Coins
from gateway.config_parts import CanaryConfig

SHA = "0" * 64


def canary(others: tuple[str, ...] = (), **changed: object) -> Canary:
    fields: dict[str, object] = {
        "candidate": SHA,
        "lanes": ("p", "q"),
        "seed": 7,
        "starts_at": 1000.0,
        "blocks": 40,
        "slot_s": 30.0,
    }
    return Canary(CanaryConfig(**(fields | changed)), others=others)  # type: ignore[arg-type]


def test_the_draw_is_the_one_that_is_stored_for_ever() -> None:
    coins = Coins(1, ("p", "q"))
    drawn = "".join("pq"[coins.arm_of(block, "q") is Arm.CANDIDATE] for block in range(24))
    assert drawn == "qqqqppppqqpppqpqppqqppqq"


@given(seed=st.integers(0, 2**53), block=st.integers(0, 100_000))
def test_exactly_one_of_the_two_lanes_runs_the_candidate(seed: int, block: int) -> None:
    coins = Coins(seed, ("p", "q"))
    assert {coins.arm_of(block, "p"), coins.arm_of(block, "q")} == {Arm.CANDIDATE, Arm.BASELINE}
    assert coins.arm_of(block, "r") is Arm.REST


def test_the_coin_is_fair_and_each_block_has_its_own() -> None:
    coins = Coins(11, ("p", "q"))
    heads = sum(coins.arm_of(block, "p") is Arm.CANDIDATE for block in range(4000))
    assert abs(heads - 2000) < 4 * 32


@pytest.mark.parametrize("weight", [0.05, 0.2, 0.5])
def test_each_lane_gets_its_weight_and_the_rest_goes_elsewhere(weight: float) -> None:
    plan = canary(others=("r", "s") if weight < 0.5 else (), weight=weight)
    counts = Counter(plan.lane_of(f"t{n % 7}", n // 7) for n in range(10_000))
    assert abs(counts["p"] / 10_000 - weight) < 0.02
    assert abs(counts["q"] / 10_000 - weight) < 0.02
    if weight < 0.5:
        assert abs(counts["r"] / 10_000 - (0.5 - weight)) < 0.02


def test_another_process_puts_the_same_request_into_the_same_lane() -> None:
    one, two = canary(), canary()
    assert [one.lane_of("t", n) for n in range(99)] == [two.lane_of("t", n) for n in range(99)]


def test_blocks_begin_and_end_when_the_plan_says() -> None:
    plan = canary(washout_s=5.0)
    assert plan.block_at(999.9) is None
    assert plan.block_at(1000.0) == 0
    assert plan.block_at(1029.9) == 0
    assert plan.block_at(1030.0) == 1
    assert plan.block_at(1000.0 + 39 * 30) == 39
    assert plan.block_at(1000.0 + 40 * 30) is None
    assert plan.washed_out(1034.9, 1)
    assert not plan.washed_out(1035.0, 1)
