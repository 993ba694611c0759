"""Two policies in virtual time: what is found, what is not, and what is kept."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from documents.canonical import canonical
from loadtest.ab.execution import BLOCKS, RESULT, read_blocks
from loadtest.ab.ground import EngineLost, Ground
from loadtest.ab.model import model_ground
from loadtest.ab.order import Order
from loadtest.ab.replay import Replay
from loadtest.ab.result import Result
from loadtest.recorder import read_decisions
from measurement.comparison.assignment import Arm
from measurement.comparison.stored import recompute, verdict_of
from measurement.doubted import Stall
from tests.loadtest.ab.asked import WORSE, Heard, carried_out, order, policy


def test_equal_policies_on_engines_that_differ_by_chance_do_no_harm(tmp_path: Path) -> None:
    """Once; how often it is wrong is held by ``headway verify comparison``."""
    loaded = order(seed=1, arrivals={"process": "poisson", "rate": 30}, blocks=33)
    result, _ = carried_out(loaded, tmp_path, grounds=partial(model_ground, apart=True))
    assert result.verdict.outcome in {"pass", "inconclusive"}


@pytest.fixture(scope="module")
def harmed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Heard, Path]:
    """One comparison that several tests look at: the candidate lets in far too little."""
    out = tmp_path_factory.mktemp("harmed")
    return (*carried_out(order(candidate=WORSE), out), out)


def test_a_policy_that_lets_in_far_too_little_is_harm_at_the_first_look_that_counts(
    harmed: tuple[Result, Heard, Path],
) -> None:
    result, heard, _ = harmed
    assert (result.verdict.outcome, result.exit_code) == ("harm", 11)
    assert result.verdict.k == 20 == len(heard.blocks)
    assert result.verdict.action == "roll_back"
    assert {row.name for row in result.verdict.criteria} == {"attainment"}
    assert heard.power[0].harm > 0


def test_equal_policies_pass_where_the_margin_can_be_shown(tmp_path: Path) -> None:
    result, _ = carried_out(order(margins={"attainment": 0.1}), tmp_path)
    assert (result.verdict.outcome, result.exit_code) == ("pass", 0)
    assert all(block.difference("attainment") == 0 for block in result.evidence.blocks)


def test_the_stored_verdict_is_made_again_byte_for_byte_and_the_run_block_by_block(
    harmed: tuple[Result, Heard, Path], tmp_path: Path
) -> None:
    first, _, out = harmed
    written = json.loads((out / RESULT).read_text())
    assert canonical(recompute(written["stored"])) == canonical(written["stored"])
    asked = first.order
    again, _ = carried_out(Order.parse(asked.to_document()), tmp_path)
    assert canonical(again.stored) == canonical(first.stored)


@asynccontextmanager
async def _standing_still(asked: Order) -> AsyncIterator[Ground]:
    """0.4 s of every 4 s; in virtual time, where nothing is late by it."""

    def stalls(since: float, until: float) -> list[Stall]:
        first = int(since // 4)
        all_of = [(at, at + 0.4) for at in range(4 * first, int(until) + 4, 4)]
        return [(start, end) for start, end in all_of if start <= until and end >= since]

    async with model_ground(asked) as ground:
        yield dataclasses.replace(ground, stalls=stalls)


def test_blocks_whose_judgements_hang_on_where_the_client_stood_still_are_no_evidence(
    tmp_path: Path,
) -> None:
    result, _ = carried_out(order(candidate=WORSE), tmp_path, grounds=_standing_still)
    assert (result.verdict.outcome, result.exit_code) == ("invalid", 13)
    assert "would be judged otherwise, had their first token come up to" in result.verdict.because
    assert "the client stood still as it came" in result.verdict.because
    assert result.lateness[Arm.CANDIDATE]["doubted_first_tokens"] > 0


def test_first_tokens_that_were_in_time_all_the_same_are_in_no_doubt(tmp_path: Path) -> None:
    result, _ = carried_out(order(), tmp_path, grounds=_standing_still)
    assert result.lateness[Arm.BASELINE]["doubted_first_tokens"] == 0
    assert result.verdict.outcome == "inconclusive"  # too few bad ones, and no fault


def test_one_arm_that_was_asked_something_else_is_no_evidence(
    harmed: tuple[Result, Heard, Path],
) -> None:
    result, _, _ = harmed
    stored = json.loads(json.dumps(result.stored))
    stored["evidence"]["blocks"][3]["candidate"]["stimulus"] = "00000000000000ff"
    found = verdict_of(stored)
    assert found.outcome == "invalid"
    assert "not asked the same in block 3" in found.because


def test_every_block_says_who_ran_where_and_on_what(
    harmed: tuple[Result, Heard, Path],
) -> None:
    result, _, _ = harmed
    asked = result.order
    for block in result.evidence.blocks:
        assert block.order == asked.timetable.order(block.index)
        assert block.baseline.policies == {asked.plan.baseline}
        assert block.candidate.policies == {asked.plan.candidate}
        assert block.baseline.engines == block.candidate.engines
        assert block.baseline.heard
        assert block.baseline.stimulus == block.candidate.stimulus != 0
    assert {block.order for block in result.evidence.blocks} == {"P", "Q"}


def test_one_that_is_cancelled_keeps_the_blocks_that_had_closed(tmp_path: Path) -> None:
    result, heard = carried_out(order(), tmp_path, stop_after=7)
    assert (result.status, result.exit_code) == ("cancelled", 130)
    assert result.verdict.state == "running"
    kept = [block.to_json() for block in result.evidence.blocks]
    assert 7 <= len(kept) < 40
    assert list(read_blocks(tmp_path)) == kept == [one.block.to_json() for one in heard.blocks]
    assert (tmp_path / BLOCKS).exists()


@asynccontextmanager
async def one_engine(asked: Order) -> AsyncIterator[Ground]:
    async with model_ground(asked) as ground:
        yield dataclasses.replace(ground, clients={"P": ground.clients["P"]})


def test_a_switchback_tells_a_worse_policy_on_one_engine(tmp_path: Path) -> None:
    endpoint = {"base_url": "http://127.0.0.1:9", "model": "m"}
    asked = order(
        candidate=WORSE, where="switchback", endpoints=[endpoint], block_s=3, washout_s=1.5
    )
    result, _ = carried_out(asked, tmp_path, grounds=one_engine)
    assert result.verdict.outcome == "harm", result.verdict.because
    assert {block.order for block in result.evidence.blocks} == {"AB", "BA"}
    assert all(b.baseline.stimulus == b.candidate.stimulus for b in result.evidence.blocks)


def test_numbers_of_the_model_say_so_and_how_far_they_err(tmp_path: Path) -> None:
    result, _ = carried_out(order(), tmp_path, stop_after=1)
    assert "engine model" in result.notes[0]
    assert "stated error: Mean TPOT error" in result.notes[0]


def test_answers_that_outlast_the_washout_are_told(
    harmed: tuple[Result, Heard, Path],
) -> None:
    result, _, _ = harmed
    assert any("longer than the washout of 0.5 s" in note for note in result.notes)


def test_an_engine_that_dies_ends_it_with_the_reason(tmp_path: Path) -> None:
    @asynccontextmanager
    async def dying(asked: Order) -> AsyncIterator[Ground]:
        async with model_ground(asked) as ground:
            yield dataclasses.replace(ground, lost=lambda: "the engine of lane P ended with code 1")

    with pytest.raises(EngineLost, match="lane P ended"):
        carried_out(order(), tmp_path, grounds=dying)


def test_a_law_that_learns_keeps_what_it_knows_while_the_other_one_decides(
    tmp_path: Path,
) -> None:
    """Where all time out AIMD cuts; begun anew in each of its blocks, it would be at 64 there."""
    learning = policy(1, "learning")
    learning["spec"] = {"concurrency": {"law": "aimd", "initial": 64}}
    asked = order(candidate=learning, timeouts={"total_s": 0.06})
    carried_out(asked, tmp_path, stop_after=8)
    trace = list(read_decisions(tmp_path / "lane-P"))
    assert len({int(one["at"] // 2) for one in trace}) > 1
    assert trace[-1]["after"] < 64
    for before, after in pairwise(trace):
        assert after["before"] == before["after"]


def test_an_arm_is_held_to_its_admission_law_in_its_own_slots_alone(tmp_path: Path) -> None:
    """A bucket that fills at some third of what is asked sheds in the candidate's slots."""
    bucket = {"law": "token_bucket", "rate": 200, "burst": 900, "max_wait_s": 0}
    sparing = policy(32, "sparing")
    sparing["spec"]["admission"] = bucket
    asked = order(candidate=sparing)
    carried_out(asked, tmp_path, stop_after=6)
    replay, seen = Replay(asked, "tests"), set[tuple[str, str]]()
    for lane in replay.lanes:
        slots = list(replay.slots(lane))
        for one in read_decisions(tmp_path / f"lane-{lane}"):
            if one["point"] == "admission":
                (slot,) = [slot for slot in slots if slot.start <= one["at"] < slot.start + 2.0]
                law = {Arm.CANDIDATE: "token_bucket", Arm.BASELINE: "always"}[slot.arm]
                assert one["law"] == law, one
                seen.add((law, one["reason"]))
    assert seen == {
        ("always", "admitted"), ("token_bucket", "admitted"), ("token_bucket", "tenant_budget"),
    }  # fmt: skip
