"""The verdict: what decides, in which order, and what it says."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from measurement.comparison.block import Block, Count
from measurement.comparison.plan import ComparisonPlan
from measurement.comparison.verdict import ComparisonVerdict, Evidence, judge
from tests.measurement.comparison.builders import (
    BASELINE,
    CANDIDATE,
    arm,
    block,
    blocks,
    drawn,
    plan,
)

EVEN = [2, 1, 3, 2, 1, 3, 2, 2, 1, 3] * 12


def judged(of: ComparisonPlan, found: tuple[Block, ...], **beside: Any) -> ComparisonVerdict:
    return judge(of, Evidence(found, **beside))


def changed(found: tuple[Block, ...], place: int, **arms: Any) -> tuple[Block, ...]:
    """The same blocks, with one arm of one of them changed."""
    ((name, changes),) = arms.items()
    arm_then = dataclasses.replace(getattr(found[place], name), **changes)
    one = dataclasses.replace(found[place], **{name: arm_then})
    return (*found[:place], one, *found[place + 1 :])


def test_before_any_block_it_is_inconclusive_and_goes_on() -> None:
    found = judged(plan(), ())
    assert (found.outcome, found.action, found.state) == ("inconclusive", "continue", "running")
    assert found.because == "Inconclusive because no block has ended yet."


def unstreamed(of: ComparisonPlan, count: int) -> tuple[Block, ...]:
    """Blocks in which no answer had a first token's time, and three of each arm failed."""
    found = {one.name: Count(60, 3, 57) if one.metric or one.kind == "attainment" else Count(60, 3)
             for one in of.criteria}  # fmt: skip
    silent = {name: Count(60, 0, 60) if c.unmeasured else c for name, c in found.items()}
    return tuple(
        block(of, index, arm(BASELINE, counts=silent), arm(CANDIDATE, counts=silent))
        for index in range(count)
    )


def test_answers_that_were_not_streamed_are_named_as_the_cause_with_the_remedy() -> None:
    of = plan({"kind": "attainment"}, {"kind": "errors", "pass_margin": 0.03})
    found = judged(of, unstreamed(of, 24))
    assert found.outcome == "inconclusive"
    assert "attainment has 0 blocks, and nothing is said before 20. 24 blocks so far" in (
        found.because
    )
    assert "2,880 answers were not streamed or had too few tokens" in found.because
    assert "stream: true" in found.because
    row = found.criteria[0].to_json()
    assert (row["k"], row["unused"], row["unmeasured"]) == (0, 24, 2_880)
    assert (found.criteria[1].unused, found.criteria[1].k) == (0, 24)


def test_blocks_without_a_request_ask_for_traffic_and_not_for_streams() -> None:
    of = plan()
    empty = arm(CANDIDATE, n=0, counts={"attainment": Count()})
    found = judged(of, (block(of, 0, arm(BASELINE), empty),))
    assert "1 block so far can't be judged, as an arm was asked nothing in them" in found.because
    assert "stream" not in found.because


def test_criteria_of_which_the_same_is_to_be_said_share_one_sentence() -> None:
    of = plan(
        {"kind": "attainment"}, {"kind": "errors"},
        {"kind": "exceedance", "metric": "ttft_ms", "quantile": 0.99, "threshold": 800},
    )  # fmt: skip
    assert judged(of, ()).reasons == (judged(of, ()).because,)
    counts = {one.name: Count(60, 3) for one in of.criteria}
    one = block(of, 0, arm(BASELINE, counts=counts), arm(CANDIDATE, counts=counts))
    found = judged(of, (one,))
    assert found.reasons == (
        "Attainment, errors and TTFT P99 ≤ 800 ms have 1 block, and nothing is said before 20.",
    )
    assert found.reasons[0][1:].rstrip(".") in found.because


def test_nothing_passes_before_twenty_blocks_and_equal_arms_do_then() -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.03})
    early = judged(of, blocks(of, EVEN[:19], EVEN[:19]))
    assert (early.outcome, early.criteria[0].r_pass) == ("inconclusive", None)
    assert "19 blocks, and nothing is said before 20" in early.because
    found = judged(of, blocks(of, EVEN[:20], EVEN[:20]))
    assert (found.outcome, found.action, found.state, found.exit_code) == (
        "pass",
        "advance",
        "final",
        0,
    )


def test_a_worse_candidate_is_harm_and_rolled_back() -> None:
    of = plan()
    found = judged(of, blocks(of, drawn(0.05, 60, 1), drawn(0.15, 60, 2)))
    assert (found.outcome, found.action, found.exit_code) == ("harm", "roll_back", 11)
    row = found.criteria[0]
    assert row.k == found.k <= 30
    assert found.because.startswith("Harm because attainment was missed by ")
    assert row.m is not None
    assert row.m == pytest.approx((row.candidate_rate or 0) - (row.baseline_rate or 0), abs=1e-9)


def test_a_first_decision_stands_whatever_came_later() -> None:
    of = plan()
    worse = blocks(of, drawn(0.05, 60, 1), drawn(0.15, 60, 2))
    first = judged(of, worse)
    better = blocks(of, [60] * 120, [0] * 120)
    assert judged(of, (*worse[: first.k], *better[first.k :])).to_json() == first.to_json()


def test_a_gap_between_the_margins_is_inconclusive_and_at_the_end_a_person_decides() -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.001}, blocks=40)
    found = judged(of, blocks(of, EVEN[:39], EVEN[:39][::-1]))
    assert (found.outcome, found.action) == ("inconclusive", "continue")
    ended = judged(of, blocks(of, EVEN[:40], EVEN[:40][::-1]))
    assert (ended.outcome, ended.action, ended.state) == ("inconclusive", "hold", "final")
    assert ended.because.endswith("and the planned time is over: a person decides.")


def test_a_deadline_ends_it_and_later_blocks_are_not_looked_at() -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.03}, deadline_s=550.0)
    found = judged(of, blocks(of, EVEN[:60], EVEN[:60]))
    assert (found.outcome, found.action, found.k) == ("inconclusive", "hold", 18)
    waiting = judged(of, blocks(of, EVEN[:5], EVEN[:5]), elapsed_s=551.0)
    assert (waiting.outcome, waiting.action) == ("inconclusive", "hold")


def test_a_pass_waits_for_the_bake_time() -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.03}, bake_s=1000.0)
    early = judged(of, blocks(of, EVEN[:30], EVEN[:30]))
    assert early.outcome == "inconclusive"
    assert early.because == "Inconclusive because the bake time is not over."
    assert judged(of, blocks(of, EVEN[:40], EVEN[:40])).k == 34


@pytest.mark.parametrize("margin", [0.03, 0.001])
def test_harm_needs_no_bake_time(margin: float) -> None:
    of = plan({"kind": "attainment", "pass_margin": margin}, bake_s=10_000.0)
    found = judged(of, blocks(of, drawn(0.05, 60, 1), drawn(0.15, 60, 2)))
    assert found.outcome == "harm"


def test_a_criterion_that_is_no_guardrail_never_calls_harm_and_bars_a_pass() -> None:
    of = plan({"kind": "attainment", "guardrail": False}, blocks=60)
    found = judged(of, blocks(of, drawn(0.05, 60, 1), drawn(0.15, 60, 2)))
    assert found.outcome == "inconclusive"


def test_evidence_alone_calls_harm_before_twenty_blocks() -> None:
    of = plan({"kind": "attainment", "scale": 0.02})
    found = judged(of, blocks(of, [1] * 15, [20, 21] * 7 + [20]))
    assert (found.outcome, found.criteria[0].r_harm) == ("harm", None)
    assert found.k < 20
    assert "the evidence against equal arms is E = 10^" in found.because
    assert (found.criteria[0].e or 0) >= 40


def test_with_a_margin_for_harm_evidence_of_some_gap_is_not_enough() -> None:
    """E only knows whether there is a gap at all; this one is real, and allowed."""
    of = plan({"kind": "attainment", "scale": 0.02, "harm_margin": 0.2}, blocks=60)
    found = judged(of, blocks(of, drawn(0.05, 60, 1), drawn(0.12, 60, 2)))
    assert (found.criteria[0].log10_e or 0) > 2
    assert (found.outcome, found.criteria[0].e_counts) == ("inconclusive", False)


def test_a_fixed_budget_looks_four_times_and_not_before_twenty_blocks() -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.03}, budget="fixed", blocks=40)
    decided = {judged(of, blocks(of, EVEN[:k], EVEN[:k])).outcome: k for k in range(40, 0, -1)}
    assert decided["pass"] == 20
    other = plan({"kind": "attainment", "pass_margin": 0.03}, budget="fixed", blocks=33)
    decided = {
        judged(other, blocks(other, EVEN[:k], EVEN[:k])).outcome: k for k in range(33, 0, -1)
    }
    assert decided["pass"] == 25
    assert judged(of, blocks(of, EVEN[:21], EVEN[:21])).k == 20


def test_too_few_bad_events_are_no_pass_however_even() -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.03})
    found = judged(of, blocks(of, [0] * 60, [0] * 60))
    row = found.criteria[0]
    assert (found.outcome, row.rare, row.clean_needed) == ("inconclusive", True, 100)
    assert row.unseen == pytest.approx(2.995732273554 / 60, rel=1e-9)
    assert "100 blocks without one of the candidate would pass it" in found.because
    assert judged(of, blocks(of, [0] * 120, [0] * 120)).k == 100


def test_one_bad_event_of_the_candidate_is_no_clean_block() -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.03})
    assert judged(of, blocks(of, [1] * 20 + [0] * 100, [0] * 120)).outcome == "pass"
    dirty = blocks(of, [0] * 120, [0, 1] + [0] * 118)
    found = judged(of, dirty)
    assert found.outcome == "inconclusive"
    assert "30 of them would let its spread be believed, or a person" in found.because


def test_a_person_may_pass_what_is_too_rare_and_is_named() -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.001})
    found = judged(of, blocks(of, [0] * 30, [0] * 30), accepted={"attainment": "mira"})
    assert (found.outcome, found.k) == ("pass", 30)
    assert found.because.startswith("Passing because mira passed attainment, where up to 9.99 %")
    common = judged(of, blocks(of, EVEN[:30], EVEN[:30][::-1]), accepted={"attainment": "mira"})
    assert common.outcome == "inconclusive"


def test_every_criterion_must_pass_and_any_guardrail_may_harm() -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.03}, {"kind": "errors"}, blocks=60)

    def both(errors: tuple[int, int]) -> tuple[Block, ...]:
        made = []
        for index in range(60):
            counts = [
                {"attainment": Count(60, EVEN[index], 0), "errors": Count(60, bad, 0)}
                for bad in errors
            ]
            a, b = arm(BASELINE, counts=counts[0]), arm(CANDIDATE, counts=counts[1])
            made.append(block(of, index, a, b))
        return tuple(made)

    assert judged(of, both((2, 2))).outcome == "pass"
    rare = judged(of, both((0, 0)))
    assert [row.outcome for row in rare.criteria] == ["pass", "inconclusive"]
    assert rare.outcome == "inconclusive"
    worse = judged(of, both((0, 1)))
    assert [row.outcome for row in worse.criteria][1] == "harm"
    assert worse.outcome == "harm"


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("candidate", {"heard": False}, "telemetry of block 8 is missing"),
        ("baseline", {"heard": False}, "telemetry of block 8 is missing"),
        ("candidate", {"policies": frozenset(["d" * 64])}, "ran policy dddddddddddd"),
        ("baseline", {"policies": frozenset([BASELINE, CANDIDATE])}, "ran policy cccccccccccc"),
        ("candidate", {"policies": frozenset()}, "Nobody said which policy"),
        ("candidate", {"engines": frozenset(["f" * 64])}, "engines are not equivalent"),
        ("candidate", {"faults": ("The client was late.",)}, "The client was late."),
    ],
)
def test_a_block_that_is_no_evidence_makes_it_invalid_and_holds(
    name: str, changes: dict[str, Any], said: str
) -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.03})
    found = judged(of, changed(blocks(of, EVEN, EVEN), 8, **{name: changes}))
    assert (found.outcome, found.action, found.exit_code, found.k) == ("invalid", "hold", 13, 9)
    assert said in found.because


def test_a_missing_block_and_a_wrong_order_are_no_evidence() -> None:
    of = plan()
    whole = blocks(of, EVEN, EVEN)
    assert "Block 5 has no telemetry" in judged(of, (*whole[:5], *whole[6:])).because
    turned = dataclasses.replace(whole[3], order="Q" if whole[3].order == "P" else "P")
    found = judged(of, (*whole[:3], turned, *whole[4:]))
    assert "seed 7 draws" in found.because
    assert found.outcome == "invalid"


def test_in_a_replay_any_difference_of_what_was_asked_is_invalid() -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.03}, stimulus="replay")
    whole = blocks(of, EVEN, EVEN)
    assert judged(of, whole).outcome == "pass"
    other = judged(of, changed(whole, 4, candidate={"stimulus": 1}))
    assert "at other times or for other tenants" in other.because
    fewer = judged(of, changed(whole, 4, candidate={"scheduled": 59}))
    assert "the baseline had 60 requests and the candidate 59" in fewer.because


def test_live_load_is_compared_once_when_something_is_decided() -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.03})

    def uneven(less: int, count: int) -> tuple[Block, ...]:
        return tuple(
            block(of, k, arm(BASELINE, EVEN[k]), arm(CANDIDATE, EVEN[k], 60, scheduled=60 - less))
            for k in range(count)
        )

    going = judged(of, uneven(6, 19))
    assert (going.outcome, going.load_p) == ("inconclusive", None)
    found = judged(of, uneven(6, 20))
    assert (found.outcome, found.action) == ("invalid", "hold")
    assert "not offered the same load" in found.because
    assert (found.load_p or 1) < 0.001
    assert judged(of, uneven(0, 20)).load_p == 1.0


def test_silence_now_is_invalid_and_bars_a_pass_but_not_a_rollback() -> None:
    of = plan({"kind": "attainment", "pass_margin": 0.03})
    quiet = judged(of, blocks(of, EVEN[:5], EVEN[:5]), silent=("candidate",))
    assert (quiet.outcome, quiet.action) == ("invalid", "hold")
    assert judged(of, blocks(of, EVEN[:20], EVEN[:20]), silent=("baseline",)).outcome == "invalid"
    worse = blocks(of, drawn(0.05, 60, 1), drawn(0.15, 60, 2))
    assert judged(of, worse, silent=("candidate",)).outcome == "harm"


def test_an_unreachable_candidate_is_rolled_back_at_once() -> None:
    of = plan()
    found = judged(of, changed(blocks(of, [1], [1]), 0, candidate={"reachable": False}))
    assert (found.outcome, found.action, found.k) == ("harm", "roll_back", 1)
    assert found.because == "Harm because the candidate could not be reached in block 0."


def test_two_blocks_of_mostly_errors_are_rolled_back_at_once() -> None:
    of = plan()
    whole = blocks(of, EVEN[:4], EVEN[:4])
    once = changed(whole, 1, candidate={"failed": 31})
    assert judged(of, once).outcome == "inconclusive"
    twice = changed(once, 2, candidate={"failed": 31})
    found = judged(of, twice)
    assert (found.outcome, found.k) == ("harm", 3)
    assert "51.7 % of the candidate's requests failed in 2 blocks in a row" in found.because


def test_an_overload_that_fails_both_arms_is_no_hard_stop() -> None:
    of = plan()
    whole = blocks(of, EVEN[:4], EVEN[:4])
    for place in (1, 2):
        whole = changed(whole, place, candidate={"failed": 40})
        whole = changed(whole, place, baseline={"failed": 40})
    assert judged(of, whole).outcome == "inconclusive"


def test_everything_a_page_must_show_is_in_the_json() -> None:
    of = plan()
    shown = judged(of, blocks(of, EVEN[:30], EVEN[:30][::-1])).to_json()
    assert shown["seed"] == 7
    assert shown["k"] == 30
    assert shown["n"] == {"baseline": 1800, "candidate": 1800}
    row = shown["criteria"][0]
    for number in ("m", "r_harm", "r_pass", "e", "log10_e", "detectable", "unseen", "sd"):
        assert isinstance(row[number], float), number
    assert (row["harm_margin"], row["pass_margin"]) == (0.0, 0.01)
