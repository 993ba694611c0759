"""Faults put into samples by hand, all the way to the verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from measurement.column_builder import columns_of
from measurement.comparison.assignment import Arm, Design, Timetable
from measurement.comparison.block import Block
from measurement.comparison.criterion import frozen_threshold
from measurement.comparison.cutting import Cutter
from measurement.comparison.paired_replay import pair
from measurement.comparison.plan import ComparisonPlan
from measurement.comparison.verdict import ComparisonVerdict, Evidence, judge
from measurement.outcome import Outcome
from measurement.sample import Sample
from tests.measurement.builders import answered, failed, slo
from tests.measurement.comparison.builders import BASELINE, CANDIDATE, plan

BLOCKS, LENGTH, WASHOUT, RATE = 60, 35.0, 5.0, 3.0
UNDER = slo({"metric": "ttft_ms", "max": 800}, {"metric": "error", "max": 0})
COMMON = ({"kind": "attainment", "pass_margin": 0.03, "base": 0.03, "scale": 0.03},)
ERRORS = {"kind": "errors", "scale": 0.01}
Policy = Callable[[Sample, np.random.Generator], Sample]


def same(sample: Sample, _: np.random.Generator) -> Sample:
    return sample


def slower(sample: Sample, _: np.random.Generator) -> Sample:
    first = sample.intended_at + 1.1 * (sample.ttft or 0.0)
    late = first - (sample.first_token_at or 0.0)
    return dataclasses.replace(
        sample,
        first_token_at=first,
        last_token_at=(sample.last_token_at or 0.0) + late,
        done_at=(sample.done_at or 0.0) + late,
    )


def erring(sample: Sample, rng: np.random.Generator) -> Sample:
    bad = rng.random() < 0.01
    return failed(Outcome.HTTP_5XX, sample.index, sample.intended_at) if bad else sample


def rejecting(sample: Sample, _: np.random.Generator) -> Sample:
    return failed(Outcome.REJECTED_429, sample.index, sample.intended_at)


def lane(seed: int, load: Sequence[float], policies: Callable[[float], Policy]) -> list[Sample]:
    """One lane's samples: the same requests on each, latencies of the lane's own."""
    rng = np.random.default_rng(seed)
    own = 0.1 * rng.standard_normal(len(load)).cumsum() / np.sqrt(len(load))
    found = []
    for index in range(int(BLOCKS * LENGTH * RATE)):
        at = index / RATE
        block = int(at / LENGTH)
        ttft = 0.35 * np.exp(load[block] + own[block] + 0.4 * rng.standard_normal())
        found.append(policies(at)(answered(index, at, first_token_at=at + ttft), rng))
    return found


def comparison(of: ComparisonPlan, fault: Policy) -> tuple[Cutter, dict[str, list[Sample]]]:
    """Two lanes whose candidate has the fault."""
    table = Timetable(Design(of.design), of.seed, LENGTH, WASHOUT)
    load = (0.2 * np.random.default_rng(3).standard_normal(BLOCKS)).tolist()

    def policies(name: str) -> Callable[[float], Policy]:
        def at(instant: float) -> Policy:
            slot = table.slots(int(instant / LENGTH))
            arm = next(s.arm for s in slot if s.lane == name)
            return fault if arm is Arm.CANDIDATE else same

        return at

    cutter = Cutter(
        table,
        UNDER,
        of.criteria,
        {Arm.BASELINE: BASELINE, Arm.CANDIDATE: CANDIDATE},
        {"P": "engine", "Q": "engine"},
    )
    return cutter, {name: lane(seed, load, policies(name)) for name, seed in (("P", 1), ("Q", 2))}


def verdict(of: ComparisonPlan, fault: Policy) -> ComparisonVerdict:
    cutter, lanes = comparison(of, fault)
    # The same requests on both, or there is nothing to compare.
    pair(*(columns_of(lanes[name]) for name in ("P", "Q")))
    return judge(of, Evidence(tuple(cutter.blocks(lanes, BLOCKS))))


@pytest.fixture(scope="module")
def of() -> ComparisonPlan:
    """Attainment, errors and a percentile whose τ is frozen from an A/A run."""
    _, lanes = comparison(plan(stimulus="replay", blocks=BLOCKS), same)
    return planned(*COMMON, exceedance(frozen_threshold(lanes["P"], "ttft_ms", 0.9, 0.0)), ERRORS)


def planned(*criteria: dict[str, Any]) -> ComparisonPlan:
    return plan(*criteria, stimulus="replay", blocks=BLOCKS)


def exceedance(tau: float) -> dict[str, Any]:
    about = {"kind": "exceedance", "metric": "ttft_ms", "quantile": 0.9, "threshold": tau}
    return {**about, "pass_margin": 0.05, "scale": 0.05}


def test_equal_arms_are_no_harm_and_pass_what_is_not_too_rare(of: ComparisonPlan) -> None:
    found = verdict(of, same)
    assert (found.outcome, found.action) == ("inconclusive", "hold")
    assert [row.outcome for row in found.criteria] == ["pass", "pass", "inconclusive"]
    assert found.criteria[2].pooled == 0
    assert verdict(planned(*COMMON), same).outcome == "pass"


def test_ten_percent_more_latency_is_harm(of: ComparisonPlan) -> None:
    found = verdict(of, slower)
    assert found.outcome == "harm"
    assert found.criteria[2].outcome == "inconclusive"
    assert "TTFT P90" in found.because or "attainment" in found.because


def test_one_percent_errors_is_harm(of: ComparisonPlan) -> None:
    found = verdict(of, erring)
    assert found.outcome == "harm"
    assert found.criteria[2].outcome == "harm"


def test_only_rejections_are_harm_though_no_answer_is_slow(of: ComparisonPlan) -> None:
    found = verdict(of, rejecting)
    assert (found.outcome, found.action, found.k) == ("harm", "roll_back", 2)


def test_rejections_are_harm_by_the_numbers_too(of: ComparisonPlan) -> None:
    def some(sample: Sample, rng: np.random.Generator) -> Sample:
        return rejecting(sample, rng) if sample.index % 10 == 0 else sample

    found = verdict(of, some)
    assert found.outcome == "harm"
    assert min(row.m or 0.0 for row in found.criteria) > 0.05


def test_dead_telemetry_is_invalid_and_never_a_pass(of: ComparisonPlan) -> None:
    cutter, lanes = comparison(of, same)
    blocks = cutter.blocks(lanes, BLOCKS)

    def dead(block: Block) -> Block:
        return dataclasses.replace(
            block, candidate=dataclasses.replace(block.candidate, heard=False, counts={})
        )

    found = judge(of, Evidence(tuple(blocks[:10] + [dead(block) for block in blocks[10:]])))
    assert (found.outcome, found.action, found.k) == ("invalid", "hold", 11)
    assert "The candidate's telemetry of block 10 is missing" in found.because
