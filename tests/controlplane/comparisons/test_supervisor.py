"""A comparison's supervisor over a worker that plays a script: every way in which one ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from controlplane.comparisons import execution, frames, services
from controlplane.comparisons.models import Comparison, ComparisonBlock, Status
from controlplane.runs.child import Ended, Message
from controlplane.runs.supervisor import Deadlines
from measurement.comparison.assignment import Design, draw
from measurement.comparison.block import ArmCounts, Block, Count
from measurement.comparison.plan import ComparisonPlan
from measurement.comparison.stored import store
from measurement.comparison.verdict import Evidence, judge

STARTED = {"type": "started", "model": {"profile": "made-up", "error": "unknown."}}


class Player:
    """The child's side of the protocol without a process: messages in order, then the end."""

    def __init__(self, script: Iterator[Message], *, code: int = 0) -> None:
        self.script, self.code = script, code
        self.cancelled = self.killed = False
        self.argv: list[str] = []

    def __call__(self, argv: list[str], **_more: Any) -> Player:
        self.argv = argv
        return self

    def hear(self, timeout: float) -> Message | None:
        message = next(self.script, None)
        if message is None:
            raise Ended
        return message

    def cancel(self) -> None:
        self.cancelled = True

    def kill(self) -> None:
        self.killed = True

    def close(self) -> int:
        return self.code

    def last_words(self) -> str:
        return ""


@pytest.fixture
def claimed(comparison: Comparison) -> Comparison:
    taken = services.claim(comparison.pk)
    assert taken is not None
    return taken


@pytest.fixture
def play(claimed: Comparison, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Player]:
    def carry_out(script: Iterator[Message], **more: Any) -> Player:
        player = Player(script, **more)
        monkeypatch.setattr(execution.child, "Child", player)
        execution.execute(claimed, deadlines=Deadlines(poll=0.0, beat=60.0))
        claimed.refresh_from_db()
        return player

    return carry_out


def blocks(comparison: Comparison, count: int, *, asked: int = 60, bad: int = 2) -> list[Block]:
    """Of equal arms; ``asked`` is how many requests the candidate was asked, of 60."""
    plan = ComparisonPlan.parse(comparison.plan)

    def arm(policy: str, n: int) -> ArmCounts:
        counts = {one.name: Count(n, bad) for one in plan.criteria}
        return ArmCounts(scheduled=n, counts=counts, policies=frozenset([policy]), stimulus=n)

    return [
        Block(index, draw(plan.seed, index, Design(plan.design)), 3.0 * (index + 1),
              arm(plan.baseline, 60), arm(plan.candidate, asked))
        for index in range(count)
    ]  # fmt: skip


def told(comparison: Comparison, found: list[Block]) -> Iterator[Message]:
    """Each block with the verdict so far, as the worker tells it."""
    plan = ComparisonPlan.parse(comparison.plan)
    for k, block in enumerate(found, 1):
        verdict = judge(plan, Evidence(tuple(found[:k]))).to_json()
        yield {"type": "block", "block": block.to_json(), "arms": {}, "verdict": verdict}


def finished(comparison: Comparison, found: list[Block], status: str = "finished") -> Message:
    plan = ComparisonPlan.parse(comparison.plan)
    stored = store(plan, Evidence(tuple(found)))
    return {"type": "finished", "status": status, "result": {"stored": stored}}


def test_one_that_finishes_is_done_with_its_blocks_and_the_workers_verdict(
    claimed: Comparison, play: Callable[..., Player]
) -> None:
    found = blocks(claimed, 3)
    progress = {"type": "progress", "at": 4.0, "left_s": 9.0, "in_flight": 2}
    player = play(iter([STARTED, progress, *told(claimed, found), finished(claimed, found)]))
    assert (claimed.status, claimed.outcome) == (Status.DONE, "inconclusive"), claimed.reason
    assert claimed.result["stored"]["verdict"] == claimed.verdict
    kept = ComparisonBlock.objects.filter(comparison=claimed).values_list("data", flat=True)
    assert list(kept) == [block.to_json() for block in found]
    assert claimed.load_started_at is not None
    assert claimed.live["left_s"] == 9.0
    assert player.argv[1:3] == ["-m", "loadtest.ab.worker"]
    assert frames.build(claimed, since=0)["verdict"]["word"] == "Inconclusive"


def test_a_worker_that_is_killed_leaves_a_lost_one_with_what_it_had_measured(
    claimed: Comparison, play: Callable[..., Player]
) -> None:
    play(iter([STARTED, *told(claimed, blocks(claimed, 2))]), code=-9)
    assert (claimed.status, claimed.outcome) == (Status.LOST, "")
    assert claimed.reason == "The load-test worker was killed by signal 9 before it reported."
    assert ComparisonBlock.objects.filter(comparison=claimed).count() == 2
    assert "2 blocks" in claimed.because


def test_one_that_is_cancelled_asks_its_worker_once_and_keeps_its_result(
    claimed: Comparison, operator: Any, play: Callable[..., Player]
) -> None:
    found = blocks(claimed, 2)

    first, second = told(claimed, found)

    def script() -> Iterator[Message]:
        yield from (STARTED, first)
        services.cancel(actor=operator, comparison=Comparison.objects.get(pk=claimed.pk))
        yield from (second, finished(claimed, found, status="cancelled"))

    player = play(script())
    assert player.cancelled
    assert not player.killed
    assert (claimed.status, claimed.outcome) == (Status.CANCELLED, "")
    assert claimed.result["stored"]["evidence"]["blocks"] == [one.to_json() for one in found]


def test_arms_that_were_not_asked_the_same_are_invalid_and_no_evidence(
    claimed: Comparison, play: Callable[..., Player]
) -> None:
    found = blocks(claimed, 2, asked=59)
    play(iter([STARTED, *told(claimed, found), finished(claimed, found)]))
    assert (claimed.status, claimed.outcome) == (Status.DONE, "invalid")
    assert claimed.because.startswith("Invalid because this is no evidence.")
    assert frames.build(claimed, since=0)["verdict"]["word"] == "Invalid"


def test_a_worker_that_refuses_says_why_and_the_comparison_failed(
    claimed: Comparison, play: Callable[..., Player]
) -> None:
    play(iter([{"type": "error", "code": 22, "message": "target not allowed: 10.0.0.1"}]))
    assert (claimed.status, claimed.reason) == (Status.FAILED, "target not allowed: 10.0.0.1")
