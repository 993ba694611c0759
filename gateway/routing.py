"""Where a request goes: its lane, and the arm and block that it counts for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gateway.assignment import Arm, Canary
from gateway.config import GatewayConfig
from gateway.criteria import CriterionConfig
from gateway.engine import Means
from gateway.lane import Lane
from schedulers.document import Policy

BLIND_BLOCKS = 3
"""Blocks without the control plane after which the baseline serves alone."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one request was put."""

    lane: Lane
    arm: Arm
    policy: Policy
    block: int | None = None
    washed_out: bool = False
    canary: str = ""
    """Hash of the comparison that it is counted in."""
    criteria: tuple[CriterionConfig, ...] = ()


class Router:
    """The lanes of a configuration, and which policy each runs now."""

    def __init__(self, config: GatewayConfig, means: Means) -> None:
        self._means = means
        self._clock = means.clock
        self._counts: Counter[str] = Counter()
        self._block: int | None = None
        self.blind_since: float | None = None
        """Since when the control plane has not been heard of; None while it is, or has no say."""
        self.config = config
        self.lanes = {
            lane.name: Lane(lane, config.policy, config.queue, means) for lane in config.lanes
        }
        self._take(config)
        self._arms: dict[str, Arm] = {}
        self.settle(self._clock())

    @property
    def canary(self) -> str | None:
        """Hash of the comparison that is configured, None without one."""
        return self._counted[0] or None

    @property
    def block(self) -> int | None:
        """The block under way, None outside a comparison."""
        return self._block

    def place(self, tenant: str, at: float) -> Place:
        """Put a request that starts at ``at``."""
        self.settle(at)
        if self._canary is None or self._block is None:
            lane = min(self.lanes.values(), key=lambda lane: lane.load)
            return Place(lane, Arm.ACTIVE, lane.policy)
        count = self._counts[tenant]
        self._counts[tenant] = count + 1
        lane = self.lanes[self._canary.lane_of(tenant, count)]
        arm = self._arms[lane.name]
        washed_out = self._canary.washed_out(at, self._block)
        block = self._block if arm is not Arm.REST else None
        return Place(lane, arm, lane.policy, block, washed_out, *self._counted)

    def arm_of(self, lane: Lane) -> Arm:
        """What a lane runs now."""
        return self._arms.get(lane.name, Arm.ACTIVE)

    def settle(self, at: float) -> None:
        """Give each lane the policy of the block that holds this time."""
        block = self._block_at(at)
        if block != self._block:
            self._block = block
            self._swap()

    def configure(self, config: GatewayConfig) -> None:
        """Another revision, between two requests: no queue is emptied, no request lost."""
        self.config = config
        lanes = {}
        for part in config.lanes:
            lane = self.lanes.get(part.name)
            if lane is None:
                lane = Lane(part, config.policy, config.queue, self._means)
            else:
                lane.configure(part, config.queue)
            lanes[part.name] = lane
        for name in self.lanes.keys() - lanes.keys():
            for engine in self.lanes[name].engines:
                engine.pool.retire()
        self.lanes = lanes
        self._take(config)
        self._block = self._block_at(self._clock())
        self._swap()
        for lane in lanes.values():
            lane.forget(but=frozenset(config.policies))

    def _take(self, config: GatewayConfig) -> None:
        """What beside the lanes themselves follows from a configuration."""
        self._canary = _canary(config)
        self._counted: tuple[str, tuple[CriterionConfig, ...]] = ("", ())
        if config.canary is not None:
            self._counted = (config.canary.sha256, config.canary.counted)
        shadow = None if config.shadow is None else config.policies[config.shadow]
        for lane in self.lanes.values():
            lane.shade(shadow)

    def _swap(self) -> None:
        self._arms = {}
        if self._canary is not None and self._block is not None:
            assignment = self._canary.assignment
            self._arms = {name: assignment.arm_of(self._block, name) for name in self.lanes}
        for lane in self.lanes.values():
            candidate = self.arm_of(lane) is Arm.CANDIDATE
            canary = self.config.canary
            version = canary.candidate if candidate and canary else self.config.active
            lane.adopt(self.config.policies[version])

    def _block_at(self, at: float) -> int | None:
        if self._canary is None:
            return None
        blind = self.blind_since
        if blind is not None and at - blind > BLIND_BLOCKS * self._canary.config.slot_s:
            return None
        return self._canary.block_at(at)


def _canary(config: GatewayConfig) -> Canary | None:
    if config.canary is None:
        return None
    others = tuple(lane.name for lane in config.lanes if lane.name not in config.canary.pair)
    return Canary(config.canary, others=others)
