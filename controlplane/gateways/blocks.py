"""A canary's blocks as a comparison judges them: gap-free, in order, each only once it is over.

What is not known is never good: a block without telemetry is a gap as soon as later telemetry has
come, and one whose requests have no outcome in time is a fault.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controlplane.gateways.models import (
    CanaryTerm,
    Gateway,
    GatewayBlock,
    GatewayPresence,
    GatewayProcess,
)
from documents.parse import build
from gateway.config_parts import CanaryConfig
from measurement.comparison.assignment import Arm, Design, draw
from measurement.comparison.block import ArmCounts, Block, Count
from measurement.comparison.criterion import Criterion, Kind
from measurement.comparison.plan import ComparisonPlan
from measurement.outcome import Outcome

PATIENCE = 120.0
"""Seconds after its end in which a block's requests may get their outcomes."""
LATER = 5.0
"""Telemetry that is so many seconds past a block's end is later telemetry."""


@dataclass(frozen=True, slots=True)
class _Heard:
    """Everything stored of one canary."""

    canary: CanaryConfig
    rows: Mapping[int, Sequence[GatewayBlock]]
    present: Mapping[int, frozenset[str]]
    processes: Sequence[GatewayProcess]

    def start(self, index: int) -> float:
        return self.canary.starts_at + index * self.canary.slot_s

    @property
    def newest(self) -> float:
        return max((process.at for process in self.processes), default=0.0)


def blocks(
    gateway: Gateway, plan: ComparisonPlan, *, since_revision: int, now: float
) -> list[Block]:
    """Those of the newest canary of this plan that was set at that revision or later."""
    term = _term(gateway, plan, since_revision)
    if term is None:
        return []
    heard = _read(gateway, term)
    found: list[Block] = []
    for index in range(heard.canary.blocks):
        block = _block(heard, plan, index, now)
        if block is None:
            break
        found.append(block)
    return found


def _term(gateway: Gateway, plan: ComparisonPlan, since_revision: int) -> CanaryTerm | None:
    terms = CanaryTerm.objects.filter(gateway=gateway, revision__gte=since_revision)
    wanted = (plan.candidate, plan.seed)
    return next((t for t in terms if (t.document["candidate"], t.document["seed"]) == wanted), None)


def _read(gateway: Gateway, term: CanaryTerm) -> _Heard:
    rows: dict[int, list[GatewayBlock]] = defaultdict(list)
    for row in GatewayBlock.objects.filter(gateway=gateway, canary=term.sha256):
        rows[row.block].append(row)
    present: dict[int, set[str]] = defaultdict(set)
    there = GatewayPresence.objects.filter(gateway=gateway, canary=term.sha256)
    for index, boot in there.values_list("block", "boot"):
        present[index].add(boot)
    return _Heard(
        canary=build(CanaryConfig, term.document),
        rows=rows,
        present={index: frozenset(boots) for index, boots in present.items()},
        processes=list(GatewayProcess.objects.filter(gateway=gateway)),
    )


def _block(heard: _Heard, plan: ComparisonPlan, index: int, now: float) -> Block | None:
    """None while more of it may come."""
    start, end = heard.start(index), heard.start(index + 1)
    rows = heard.rows.get(index, ())
    pending = sum(row.data["pending"] for row in rows)
    owing = [one for one in heard.processes if one.since < end and one.at < end and not one.ended]
    may_come = any(one.at >= start - heard.canary.slot_s for one in owing)
    if now < end or ((may_come or pending) and now < end + PATIENCE):
        return None
    there = bool(heard.present.get(index)) and not any(one.at >= start for one in owing)
    if not there and heard.newest < end + LATER:
        return None  # silence is no gap yet: nothing later has come either
    arms = {arm: _arm(plan, [row for row in rows if row.arm == arm], arm) for arm in Arm}
    if not there:
        arms = {arm: replace(counts, heard=False) for arm, counts in arms.items()}
    return Block(
        index=index,
        order=_order(heard.canary, plan, index, rows),
        ended_at=(index + 1) * heard.canary.slot_s,
        baseline=arms[Arm.BASELINE],
        candidate=arms[Arm.CANDIDATE],
    )


def _order(
    canary: CanaryConfig, plan: ComparisonPlan, index: int, rows: Iterable[GatewayBlock]
) -> str:
    """The candidate's lane as it was seen; where nobody saw it, as it was drawn."""
    drawn = draw(plan.seed, index, Design.LANES)
    seen = {"PQ"[row.lane != canary.pair[0]] for row in rows if row.arm == Arm.CANDIDATE}
    return drawn if not seen or seen == {drawn} else next(iter(seen - {drawn}))


def _arm(plan: ComparisonPlan, rows: Sequence[GatewayBlock], arm: Arm) -> ArmCounts:
    """One arm's side: the counts of every process together."""
    whole = ArmCounts()
    for row in rows:
        whole = whole.merge(_counts(plan, row))
    resolved = sum(n for row in rows for n in row.data["outcomes"].values())
    unreached = sum(row.data["outcomes"].get(Outcome.CONNECT, 0) for row in rows)
    if arm is Arm.CANDIDATE and resolved and unreached == resolved:
        whole = replace(whole, reachable=False)
    return whole


def _counts(plan: ComparisonPlan, row: GatewayBlock) -> ArmCounts:
    data = row.data
    faults = []
    counts = {one.name: _count(one, data) for one in plan.criteria}
    missing = [name for name, count in counts.items() if count is None]
    if missing and data["offered"]:
        faults.append(
            f"The gateway did not count by {', '.join(missing)} in block {row.block}. Set the "
            "canary with the plan's criteria."
        )
    if data["pending"]:
        faults.append(
            f"{data['pending']} of the {row.arm}'s requests of block {row.block} had no outcome "
            f"{PATIENCE:g} s after its end. Find out where they hang."
        )
    return ArmCounts(
        scheduled=data["offered"],
        excluded=data["excluded"],
        failed=sum(n for name, n in data["outcomes"].items() if _failed(Outcome(name))),
        counts={name: count for name, count in counts.items() if count is not None},
        policies=frozenset({row.policy}),
        engines=frozenset(row.engines),
        faults=tuple(faults),
    )


def _count(criterion: Criterion, data: Mapping[str, Any]) -> Count | None:
    """As the gateway counted it; attainment follows from every block's own counts."""
    found = data["counts"].get(criterion.name)
    if found is not None:
        return Count(**found)
    if not data["offered"]:
        return Count()
    if criterion.kind == Kind.ATTAINMENT and not data["counts"]:
        return Count(offered=data["met"] + data["missed"], bad=data["missed"])
    return None


def _failed(outcome: Outcome) -> bool:
    return not (outcome.success or outcome is Outcome.CANCELLED)
