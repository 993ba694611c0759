"""A canary's blocks: complete, in order, as drawn; and what is missing is never taken for good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controlplane.catalogue.models import PolicyVersion
from controlplane.gateways import feed, reading, services
from controlplane.gateways.models import Gateway
from measurement.comparison.assignment import Design, draw
from measurement.comparison.plan import ComparisonPlan
from measurement.comparison.verdict import Evidence, judge
from measurement.outcome import Outcome
from tests.controlplane.gateways.conftest import AT, Plane
from tests.controlplane.gateways.saying import Process

SLOT, SEED = 10.0, 7
FAR = AT + 1e6


def plan(baseline: str, candidate: str, **spec: Any) -> ComparisonPlan:
    return ComparisonPlan.parse(
        {
            "apiVersion": "headway/v1",
            "kind": "ComparisonPlan",
            "metadata": {"name": "canary"},
            "spec": {
                "baseline": baseline,
                "candidate": candidate,
                "criteria": [
                    {"kind": "attainment"},
                    {"kind": "exceedance", "metric": "ttft_ms", "threshold": 300},
                    {"kind": "errors"},
                ],
                "seed": SEED,
                "blocks": 30,
                **spec,
            },
        }
    )


class Stage:
    """A canary on the gateway, with one process that serves it."""

    def __init__(
        self, plane: Plane, edge: Gateway, versions: tuple[PolicyVersion, PolicyVersion], at: Path
    ) -> None:
        self.plane, self.edge, self.folder = plane, edge, at
        self.steady, self.wide = versions
        self.plan = plan(self.steady.sha256, self.wide.sha256)
        canary = services.Canary(
            candidate=self.wide, lanes=("p", "q"), seed=SEED, starts_at=AT, blocks=30, slot_s=SLOT,
            washout_s=0.0, weight=0.5, criteria=self.plan.criteria,
        )  # fmt: skip
        services.set_canary(gateway=edge, canary=canary, by="rollout 1", reason="step 1")
        self.since = edge.revision
        self.process = self.another("one", AT)

    def another(self, name: str, at: float) -> Process:
        return Process(feed.document(self.edge), self.folder / name, at)

    def run(self, block: int, requests: int = 40, **served: Any) -> None:
        """One block of traffic, told twice a block."""
        start = AT + block * SLOT
        for place in range(requests):
            self.process.until(start + 0.2 + place * 0.2)
            self.process.serve(**served)
        self.tell(start + 9)
        self.tell(start + SLOT + 1)

    def tell(self, at: float) -> None:
        self.process.until(at)
        assert self.plane.send(self.process.batch()).status_code == 200

    def blocks(self, now: float = FAR) -> list[Any]:
        return reading.blocks(self.edge, self.plan, since_revision=self.since, now=now)


@pytest.fixture
def stage(
    plane: Plane, edge: Gateway, steady: PolicyVersion, wide: PolicyVersion, tmp_path: Path
) -> Stage:
    return Stage(plane, edge, (steady, wide), tmp_path)


def test_blocks_come_in_order_as_drawn_with_the_policies_that_ran(stage: Stage) -> None:
    for block in range(3):
        stage.run(block, ttft=0.4 if block == 1 else 0.1)
    found = stage.blocks(now=AT + 3 * SLOT + 1)
    assert [block.index for block in found] == [0, 1, 2]
    assert [block.order for block in found] == [draw(SEED, k, Design.LANES) for k in range(3)]
    assert [block.ended_at for block in found] == [10.0, 20.0, 30.0]
    for block in found:
        assert block.baseline.policies == {stage.steady.sha256}
        assert block.candidate.policies == {stage.wide.sha256}
        assert block.baseline.scheduled + block.candidate.scheduled == 40
        assert block.baseline.engines == block.candidate.engines != frozenset()
        assert all(arm.heard and arm.reachable and not arm.faults for arm in block.arms)
    slow = found[1].candidate
    assert slow.count("ttft_ms_p99").bad == slow.scheduled
    assert slow.count("attainment").bad == slow.count("errors").bad == 0
    verdict = judge(stage.plan, Evidence(blocks=tuple(found), elapsed_s=30.0))
    assert verdict.outcome == "inconclusive"
    assert verdict.k == 3


def test_the_gateway_counts_as_measurement_does_and_the_verdict_follows(stage: Stage) -> None:
    for block in range(2):
        start = AT + block * SLOT
        for place in range(40):
            stage.process.until(start + 0.2 + place * 0.2)
            router = stage.process.router
            bad = router.place("acme", stage.process.now).arm == "candidate"
            router._counts["acme"] -= 1  # asked only where the next one goes
            stage.process.serve(outcome=Outcome.HTTP_5XX if bad else Outcome.OK)
        stage.tell(start + 9)
        stage.tell(start + SLOT + 1)
    found = stage.blocks(now=AT + 2 * SLOT + 1)
    assert all(block.candidate.failed == block.candidate.scheduled for block in found)
    assert all(block.baseline.failed == 0 for block in found)
    verdict = judge(stage.plan, Evidence(blocks=tuple(found), elapsed_s=20.0))
    assert (verdict.outcome, verdict.action) == ("harm", "roll_back")


def test_a_block_comes_once_it_is_over_and_its_requests_have_outcomes(stage: Stage) -> None:
    close = stage.process.serve(open_=True)
    stage.run(0)
    assert stage.blocks(now=AT + SLOT - 0.1) == []
    assert stage.blocks(now=AT + SLOT + 5) == []
    close()
    stage.tell(AT + SLOT + 6)
    (block,) = stage.blocks(now=AT + SLOT + 6)
    assert block.baseline.scheduled + block.candidate.scheduled == 41


def test_requests_that_hang_past_all_patience_make_no_evidence(stage: Stage) -> None:
    stage.process.serve(open_=True)
    stage.run(0)
    stage.tell(AT + SLOT + 121)
    block = stage.blocks(now=AT + SLOT + 121)[0]
    assert "had no outcome" in " ".join((*block.baseline.faults, *block.candidate.faults))
    assert judge(stage.plan, Evidence(blocks=(block,))).outcome == "invalid"


def test_a_block_without_telemetry_is_a_gap_once_later_telemetry_has_come(stage: Stage) -> None:
    stage.run(0)
    stage.process = stage.another("two", AT + 2 * SLOT)  # the first process died unheard
    stage.run(2)
    first = stage.blocks(now=AT + 3 * SLOT + 1)
    assert [block.index for block in first] == [0]
    found = stage.blocks(now=AT + 3 * SLOT + 121)
    assert [block.index for block in found] == [0, 1, 2]
    assert not found[1].baseline.heard
    assert not found[1].candidate.heard
    assert found[2].candidate.heard
    assert judge(stage.plan, Evidence(blocks=tuple(found))).outcome == "invalid"


def test_silence_is_no_gap_while_nothing_later_has_come(stage: Stage) -> None:
    stage.run(0)
    assert len(stage.blocks(now=FAR)) == 1


def test_buffered_telemetry_fills_the_gap_before_it_is_one(stage: Stage) -> None:
    stage.run(0)
    for place in range(40):  # block 1, while the control plane is away
        stage.process.until(AT + SLOT + 0.2 + place * 0.2)
        stage.process.serve()
    kept = stage.process.batch()
    stage.process.until(AT + 2 * SLOT + 1)
    later = stage.process.batch()
    assert stage.plane.send(kept).status_code == 200
    assert len(stage.blocks(now=AT + 2 * SLOT + 2)) == 1
    assert stage.plane.send(later).status_code == 200
    assert [b.candidate.heard for b in stage.blocks(now=AT + 2 * SLOT + 2)] == [True, True]


def test_a_candidate_that_nothing_reaches_is_a_hard_stop(stage: Stage) -> None:
    stage.run(0, outcome=Outcome.CONNECT, ttft=None)
    (block,) = stage.blocks(now=AT + SLOT + 1)
    assert not block.candidate.reachable
    assert judge(stage.plan, Evidence(blocks=(block,))).outcome == "harm"


def test_a_second_canary_counts_its_blocks_anew(stage: Stage) -> None:
    stage.run(0)
    again = services.Canary(
        candidate=stage.wide, lanes=("p", "q"), seed=SEED, starts_at=AT + 100, blocks=30,
        slot_s=SLOT, washout_s=0.0, weight=0.5, criteria=stage.plan.criteria,
    )  # fmt: skip
    services.set_canary(gateway=stage.edge, canary=again, by="rollout 1", reason="step 2")
    stage.process.configure(feed.document(stage.edge))
    stage.tell(AT + 99)
    assert len(stage.blocks(now=AT + 100)) == 0
    for place in range(20):
        stage.process.until(AT + 100.2 + place * 0.2)
        stage.process.serve()
    stage.tell(AT + 109)
    stage.tell(AT + 111)
    (block,) = stage.blocks(now=AT + 111)
    assert block.baseline.scheduled + block.candidate.scheduled == 20


def test_a_process_that_ended_in_order_leaves_its_block_whole(stage: Stage) -> None:
    for place in range(10):
        stage.process.until(AT + 0.2 + place * 0.2)
        stage.process.serve()
    stage.process.until(AT + 3)
    assert stage.plane.send(stage.process.batch(last=True)).status_code == 200
    stage.process = stage.another("two", AT + 4)
    stage.tell(AT + 9)
    stage.tell(AT + SLOT + 6)
    (block,) = stage.blocks(now=AT + SLOT + 6)
    assert block.candidate.heard
    assert block.baseline.scheduled + block.candidate.scheduled == 10
