"""Admission and ordering laws stand before the model: who is taken, who is next, who is sent away.

Every request that was offered still ends in exactly one sample.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from measurement.outcome import Outcome
from schedulers.builtin import builtin
from tests.loadtest.simulation.policies import FIXED, Played, play, slo

FEW = {"concurrency": {"law": "fixed", "limit": 4}}
TIERS = {
    "workload": FIXED | {"tenants": {"urgent": 1, "patient": 1}},
    "tenants": {"urgent": {"tier": "vip"}, "patient": {"tier": "batch"}},
}
OVERLOAD = {"arrivals": {"process": "poisson", "rate": 30}, "drain_s": 60}


def attainment(run: Played) -> float:
    found = run.conclusion.summary.whole.attainment
    assert found is not None
    return found


def waits(run: Played, tenant: str) -> list[float]:
    return [each.hold for each in run.samples if each.tenant == tenant and each.hold is not None]


def ended_once(run: Played) -> Counter[Outcome]:
    """Conservation: offered is the sum of the outcomes."""
    assert [each.index for each in run.samples] == list(range(run.conclusion.seen.launched))
    return Counter(each.outcome for each in run.samples)


def test_slack_density_meets_more_objectives_than_first_come_first_served(tmp_path: Path) -> None:
    load = OVERLOAD | {
        "workload": {"kind": "synthetic", "prompt_tokens_mean": 2000, "prompt_tokens_sigma": 1.0,
                     "output_tokens_mean": 40},
        "slo": slo(1000),
        "arrivals": {"process": "poisson", "rate": 8},
    }  # fmt: skip
    runs = [
        play(tmp_path, FEW | {"ordering": {"law": name}}, **load)
        for name in ("fcfs", "slack_density")
    ]
    for run in runs:
        ended_once(run)
    assert attainment(runs[1]) > 0.4 + attainment(runs[0])
    dropped = [each for each in runs[1].samples if each.outcome is Outcome.SHED]
    assert dropped
    assert all(each.retry_after >= 0.5 and each.sent_at is None for each in dropped)
    assert {each["reason"] for each in runs[1].lines("ordering")} == {"hopeless", "in_turn"}


def test_an_urgent_tier_goes_first_and_its_wait_shows_it(tmp_path: Path) -> None:
    load = OVERLOAD | TIERS
    run = play(tmp_path, FEW | {"ordering": {"law": "priority"}}, **load)
    ended_once(run)
    urgent, patient = waits(run, "urgent"), waits(run, "patient")
    assert max(urgent) < max(patient) / 3
    assert all(each["before"] > each["after"] == 1 for each in run.lines("ordering"))


def test_ordering_acts_in_the_engines_queue_where_nothing_holds_back(tmp_path: Path) -> None:
    load = TIERS | {"arrivals": {"process": "poisson", "rate": 10}, "drain_s": 60}
    run = play(tmp_path, {"ordering": {"law": "priority"}}, engine={"max_seqs": 4}, **load)
    ended_once(run)
    worst = {name: max(each.ttft for each in run.samples if each.tenant == name and each.ttft)
             for name in ("urgent", "patient")}  # fmt: skip
    assert worst["urgent"] < worst["patient"] / 3


def test_reserving_memory_avoids_the_preemptions_that_taking_all_brings(tmp_path: Path) -> None:
    load = {
        "workload": FIXED | {"prompt_tokens": 500, "output_tokens": 400},
        "arrivals": {"process": "constant", "rate": 4},
        "drain_s": 120,
    }
    small = {"blocks": 800, "max_model_len": 2000}
    preempted = {}
    for law in ("always", "kv_reserve"):
        run = play(tmp_path, {"admission": {"law": law}}, engine=small, **load)
        assert ended_once(run).keys() == {Outcome.TRUNCATED}
        preempted[law] = run.conclusion.seen.model["preemptions"]
        assert {each["reason"] for each in run.lines("admission")} <= {"admitted", "served_alone"}
    assert preempted["always"] > 10
    assert preempted["kv_reserve"] == 0


def test_who_waits_too_long_or_finds_no_place_is_told_when_to_come_back(tmp_path: Path) -> None:
    load: dict[str, Any] = OVERLOAD | TIERS | {"arrivals": {"process": "poisson", "rate": 80}}
    run = play(tmp_path, {"concurrency": {"law": "fixed", "limit": 2}} | {
        "admission": {"law": "always"}, "ordering": {"law": "priority", "batch_share": 0},
    }, **load)  # fmt: skip
    ended = ended_once(run)
    assert ended[Outcome.SHED] > 100
    shed = [each for each in run.samples if each.outcome is Outcome.SHED]
    reasons = Counter(each["reason"] for each in run.lines("admission") if each["inputs"]["shed"])
    assert reasons.keys() == {"expired", "queue_full"}
    assert reasons.total() == len(shed)
    assert all(0.5 < each.retry_after <= 30 for each in shed)
    told = [each.retry_after for each in shed]
    assert len(set(told)) > 0.9 * len(told), "no two are told to come back together"
    expired = [each for each in shed if each.tenant == "urgent" and each.done_at > each.handed_at]
    assert all(each.done_at - each.handed_at == pytest.approx(10.0) for each in expired)


def test_a_held_request_is_asked_for_again_when_its_law_says_so(tmp_path: Path) -> None:
    law = {"law": "token_bucket", "rate": 580, "burst": 580, "max_wait_s": 100}
    load = {"arrivals": {"process": "constant", "rate": 2}, "duration_s": 5}
    run = play(tmp_path, {"admission": law}, **load)
    assert ended_once(run).keys() == {Outcome.TRUNCATED}
    sent = [each.sent_at for each in run.samples]
    gaps = [late - early for early, late in pairwise(sent)]
    assert gaps == pytest.approx([1.0] * len(gaps), abs=0.05)


@pytest.mark.parametrize(
    "arrivals", [OVERLOAD["arrivals"], {"process": "closed", "concurrency": 9}]
)
def test_the_recommended_policy_is_enforced_and_repeats_itself(
    arrivals: dict[str, Any], tmp_path: Path
) -> None:
    laws = builtin("chat-steady").to_document()["spec"]
    load = OVERLOAD | TIERS | {"arrivals": arrivals, "slo": slo(800), "duration_s": 10}
    one, two = (play(tmp_path, laws, **load) for _ in range(2))
    ended_once(one)
    assert (one.samples, one.decisions) == (two.samples, two.decisions)
    modes = {each["point"]: each["mode"] for each in one.conclusion.seen.policy["enforcement"]}
    assert set(modes.values()) == {"enforced"}
    assert len(modes) == 6


def test_what_is_open_at_the_deadline_waits_in_no_sample_twice(tmp_path: Path) -> None:
    load = OVERLOAD | {"drain_s": 0}
    run = play(tmp_path, FEW | {"ordering": {"law": "fcfs"}}, **load)
    assert ended_once(run)[Outcome.UNFINISHED] > 10


def test_taking_all_in_order_of_arrival_changes_nothing(tmp_path: Path) -> None:
    open_points = {"admission": {"law": "always"}, "ordering": {"law": "fcfs"}}
    alone, both = (play(tmp_path, FEW | more) for more in ({}, open_points))
    assert alone.samples == both.samples
    assert alone.lines("concurrency") == both.lines("concurrency")
