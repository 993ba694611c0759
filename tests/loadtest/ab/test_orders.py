"""What may be ordered: every fault told by its path, and the same order read again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.problem import DocumentError
from loadtest.ab.order import Order
from loadtest.ab.replay import Replay
from measurement.comparison.assignment import Arm
from tests.loadtest.ab.asked import order, policy


def test_an_order_comes_back_from_its_document() -> None:
    asked = order(margins={"errors": 0.002, "attainment.harm": 0.01, "ttft_ms_p90": 0.05})
    again = Order.parse(asked.to_document())
    assert again.sha256 == asked.sha256
    assert again.plan.sha256 == asked.plan.sha256
    names = [criterion.name for criterion in again.plan.criteria]
    assert names == ["attainment", "errors", "ttft_ms_p90"]
    assert again.plan.criteria[0].harm_margin == 0.01
    assert again.plan.criteria[2].threshold == 100


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"arrivals": {"process": "closed", "concurrency": 4}}, "arrivals.process"),
        ({"arrivals": {"process": "poisson"}}, "arrivals.rate"),
        ({"blocks": 20}, "blocks"),
        ({"block_s": 2.0, "washout_s": 1.5}, "block_s"),
        ({"where": "endpoints"}, "endpoints"),
        ({"where": "nowhere"}, "where"),
        ({"blocks": 900, "block_s": 90}, "blocks"),
        ({"margins": [0.1]}, "margins"),
        ({"profile": "abacus"}, "profile"),
        ({"margins": {"tpot_ms_p99": 0.01}}, "margins.tpot_ms_p99"),
        ({"candidate": {**policy(1), "spec": {}}}, "candidate.spec"),
        ({"workload": {"kind": "fixed", "prompt_tokens": 0}}, "workload.prompt_tokens"),
        ({"slo": {"kind": "SLO"}}, "slo.apiVersion"),
    ],
)
def test_what_can_not_be_carried_out_is_told_by_its_path(
    changes: dict[str, Any], path: str
) -> None:
    with pytest.raises(DocumentError) as raised:
        order(**changes)
    assert path in {problem.path for problem in raised.value.problems}


def with_laws(**laws: Any) -> dict[str, Any]:
    document = policy(32)
    return {**document, "spec": {**document["spec"], **laws}}


def test_versions_that_differ_only_where_a_comparison_does_not_act_are_refused() -> None:
    with pytest.raises(DocumentError, match="differs from the baseline only in batching"):
        order(candidate=with_laws(batching={"law": "static"}))
    for point, law in (("admission", "kv_reserve"), ("ordering", "edf"), ("retry", "full_jitter")):
        asked = order(candidate=with_laws(**{point: {"law": law}}))
        assert point in asked.candidate.laws
    alone = {**policy(1), "spec": {"preemption": {"law": "lifo"}}}
    with pytest.raises(DocumentError, match="must fill one of admission, ordering"):
        order(candidate=alone)


def test_a_changed_policy_no_longer_fits_its_plan() -> None:
    document = order().to_document()
    document["candidate"]["spec"]["concurrency"]["limit"] = 31
    with pytest.raises(DocumentError, match="is not the hash of the candidate's policy"):
        Order.parse(document)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**40), st.sampled_from([1.5, 2.0, 3.7]))
def test_both_slots_of_a_switchback_ask_the_same_at_the_same_offsets(
    seed: int, length: float
) -> None:
    endpoint = {"base_url": "http://127.0.0.1:9", "model": "m"}
    asked = order(
        where="switchback",
        endpoints=[endpoint],
        seed=seed,
        block_s=length,
        washout_s=0.4,
        blocks=33,
    )
    replay = Replay(asked, "salt")
    found: dict[Any, list[Any]] = {}
    for job in replay.schedule().jobs():
        slot = replay.slot("P", job.intended_at)
        if slot is not None:
            offset = round((job.intended_at - slot.start) * 1e6)
            found.setdefault((slot.block, slot.arm), []).append(
                (replay.index(job.index), offset, job.shape)
            )
    for block in range(asked.plan.blocks):
        assert found.get((block, Arm.BASELINE)) == found.get((block, Arm.CANDIDATE))
    assert {place: len(jobs) for place, jobs in found.items()} == dict(replay.expected)


def test_both_slots_of_a_switchback_ask_in_other_words() -> None:
    endpoint = {"base_url": "http://127.0.0.1:9", "model": "m"}
    schedule = Replay(order(where="switchback", endpoints=[endpoint]), "salt").schedule()
    jobs = list(schedule.jobs())
    assert schedule.offered == len(jobs)
    twins = {job.index: schedule.prompt(job) for job in jobs[:200]}
    pairs = [index for index in twins if index % 2 == 0 and index + 1 in twins]
    assert pairs
    assert all(twins[index] != twins[index + 1] for index in pairs)
    assert jobs == sorted(jobs, key=lambda job: job.intended_at)
