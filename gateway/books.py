"""What the gateway writes down: windows per arm and tenant, counts per block, counters for ever."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from gateway.assignment import Arm
from gateway.criteria import count_into, to_json
from gateway.routing import Place
from measurement.comparison.block import Count
from measurement.sample import Sample
from measurement.slo import Judgement, Slo, judge
from measurement.window import Window, WindowFold

IDLE_AFTER = 30.0
"""Seconds without a request after which a tenant's fold is closed."""
KEPT = 15.0
"""Seconds for which a settled window still takes what comes late."""
BLOCK_KEPT = 900.0


@dataclass(frozen=True, slots=True)
class Key:
    """Whose windows: a policy's arm and a tenant."""

    arm: Arm
    policy: str
    tenant: str
    slo: str
    """The SLO's hash, empty without one: under another, other windows begin."""


class LiveFold(WindowFold):
    """A fold that runs for ever: what is settled is let go as soon as nothing more can come."""

    def _forget(self, now: float) -> None:
        for index in [i for i in self._windows if (i + 1) * self.width < now - KEPT]:
            if self._windows[index].settled:
                del self._windows[index]


class Account:
    """The fold of one key, and how much of it is under way."""

    __slots__ = ("fold", "in_flight", "key", "last", "open")

    def __init__(self, key: Key, slo: Slo | None, now: float) -> None:
        self.key = key
        self.fold: WindowFold = LiveFold(slo=slo, start=now)
        self.in_flight = 0
        self.open = 0
        self.last = now

    def sent(self, at: float, *, again: bool = False) -> None:
        """A request went upstream; ``again``, after an attempt that failed."""
        self.in_flight += 1
        if not again:
            self.fold.sent(at)
        self.fold.in_flight(at, self.in_flight)

    def back(self, at: float) -> None:
        """It is no longer upstream."""
        self.in_flight -= 1
        self.fold.in_flight(at, self.in_flight)


@dataclass(slots=True)
class BlockCount:
    """One arm on one lane in one block: what a comparison needs of it."""

    block: int
    lane: str
    arm: Arm
    policy: str
    offered: int = 0
    resolved: int = 0
    met: int = 0
    missed: int = 0
    excluded: int = 0
    washed_out: int = 0
    bad: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    counts: dict[str, Count] = field(default_factory=dict)
    """By criterion of the comparison."""
    canary: str = ""
    """Hash of the comparison that the block is of."""
    revision: int = 0
    dirty: bool = True
    last: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As telemetry sends it; ``pending`` follows from the rest."""
        return {
            "canary": self.canary,
            "block": self.block,
            "lane": self.lane,
            "arm": str(self.arm),
            "policy": self.policy,
            "revision": self.revision,
            "offered": self.offered,
            "pending": self.offered - self.resolved,
            "met": self.met,
            "missed": self.missed,
            "excluded": self.excluded,
            "washed_out": self.washed_out,
            "bad": dict(self.bad),
            "outcomes": dict(self.outcomes),
            "counts": to_json(self.counts),
        }


class Books:
    """Written to by the pipeline, read by metrics and telemetry."""

    def __init__(self, slo: Slo | None) -> None:
        self.judge_by(slo)
        self.accounts: dict[Key, Account] = {}
        self.blocks: dict[tuple[str, int, str, str], BlockCount] = {}
        self.outcomes: Counter[tuple[str, str, str]] = Counter()
        """By tenant, arm and outcome."""
        self.judged: Counter[tuple[str, str, str]] = Counter()
        """By tenant, arm and met, missed or excluded."""
        self.tokens: Counter[tuple[str, str]] = Counter()
        """By tenant, and input or output."""
        self.refusals: Counter[str] = Counter()
        """Answers of the gateway's own, by code."""

    def judge_by(self, slo: Slo | None) -> None:
        """Another SLO for what is offered from now on."""
        self.slo = slo
        self._slo_name = "" if slo is None else slo.sha256

    def open(self, place: Place, tenant: str, index: int, at: float) -> Account:
        """A request was offered; the account that it is written to until it is closed."""
        key = Key(place.arm, place.policy.sha256, tenant, self._slo_name)
        account = self.accounts.get(key)
        if account is None:
            account = self.accounts[key] = Account(key, self.slo, at)
        account.open += 1
        account.last = at
        account.fold.offered(index, tenant, at)
        if place.block is not None:
            count = self._count(place, at)
            if place.washed_out:
                count.washed_out += 1
            else:
                count.offered += 1
        return account

    def close(self, place: Place, account: Account, sample: Sample) -> None:
        """The request has its outcome."""
        account.open -= 1
        account.last = sample.intended_at if sample.done_at is None else sample.done_at
        account.fold.resolved(sample)
        judgement = judge(sample, account.fold.slo)
        tenant, arm = sample.tenant, str(place.arm)
        self.outcomes[tenant, arm, str(sample.outcome)] += 1
        self.judged[tenant, arm, _word(judgement)] += 1
        self.tokens[tenant, "input"] += sample.prompt_tokens or 0
        self.tokens[tenant, "output"] += sample.output_tokens or 0
        if place.block is not None and not place.washed_out:
            count = self._count(place, account.last)
            _resolve(count, sample, judgement)
            count_into(count.counts, sample, account.fold.slo, place.criteria)

    def changed(self, now: float) -> list[tuple[Key, Window]]:
        """Windows that closed or were revised since the last call; nothing for idle tenants."""
        given: list[tuple[Key, Window]] = []
        for key, account in list(self.accounts.items()):
            given += [(key, window) for window in account.fold.changed(now) if _says(window)]
            if not account.open and now - account.last > IDLE_AFTER:
                del self.accounts[key]
        return given

    def finish(self, now: float) -> list[tuple[Key, Window]]:
        """The last word: the window of ``now`` too."""
        given: list[tuple[Key, Window]] = []
        for key, account in self.accounts.items():
            given += [(key, window) for window in account.fold.finish(now) if _says(window)]
        return given

    def changed_blocks(self, now: float) -> list[BlockCount]:
        """Counts that moved since the last call."""
        moved = [count for count in self.blocks.values() if count.dirty]
        for count in moved:
            count.dirty = False
            count.revision += 1
        for key, count in list(self.blocks.items()):
            if now - count.last > BLOCK_KEPT and count.offered == count.resolved:
                del self.blocks[key]
        return moved

    def _count(self, place: Place, at: float) -> BlockCount:
        assert place.block is not None  # noqa: S101 - asked only of compared requests
        key = (place.canary, place.block, place.lane.name, place.policy.sha256)
        count = self.blocks.get(key)
        if count is None:
            policy = place.policy.sha256
            count = BlockCount(place.block, place.lane.name, place.arm, policy)
            count.canary = place.canary
            self.blocks[key] = count
        count.dirty = True
        count.last = at
        return count


def _resolve(count: BlockCount, sample: Sample, judgement: Judgement) -> None:
    count.resolved += 1
    count.outcomes[str(sample.outcome)] += 1
    if judgement.excluded:
        count.excluded += 1
    elif judgement.met:
        count.met += 1
    else:
        count.missed += 1
        count.bad.update(judgement.missed)


def _word(judgement: Judgement) -> str:
    if judgement.excluded:
        return "excluded"
    return "met" if judgement.met else "missed"


def _says(window: Window) -> bool:
    """Whether a window holds anything; those of idle seconds are not worth sending."""
    events = window.events
    some = events.sent or events.tokens or events.completed or events.in_flight_us
    return bool(some or window.cohort.offered or window.revision > 1)
