"""Who runs what: the arm of each lane in each block, and the lane of each request.

Everything follows from the stored seed, so it survives restarts and agrees between processes.
"""

from __future__ import annotations

import math
from enum import StrEnum
from hashlib import blake2b
from typing import Protocol

from gateway.config_parts import CanaryConfig
from measurement.comparison.assignment import ORDERS, Design, draw


class Arm(StrEnum):
    """Which part of a comparison a request belongs to."""

    ACTIVE = "active"
    """Nothing is compared."""
    BASELINE = "baseline"
    CANDIDATE = "candidate"
    REST = "rest"
    """Beside a comparison: served by the baseline's policy, and not compared."""


class Assignment(Protocol):
    """What says which arm a lane runs in a block."""

    def arm_of(self, block: int, lane: str) -> Arm: ...


class Coins:
    """A coin for each block, fixed by the seed: the comparison's own draw for lanes P and Q."""

    def __init__(self, seed: int, lanes: tuple[str, str]) -> None:
        self._seed = seed
        self._lanes = lanes

    def arm_of(self, block: int, lane: str) -> Arm:
        """The arm of a lane; ``rest`` for a lane that is not compared."""
        if lane not in self._lanes:
            return Arm.REST
        heads = draw(self._seed, block, Design.LANES) == ORDERS[Design.LANES][0]
        return Arm.CANDIDATE if heads == (lane == self._lanes[0]) else Arm.BASELINE


class Canary:
    """The plan of one comparison on the clock."""

    def __init__(self, config: CanaryConfig, *, others: tuple[str, ...]) -> None:
        self.config = config
        self.assignment: Assignment = Coins(config.seed, config.pair)
        self._others = others
        self._salt = str(config.seed).encode()

    def block_at(self, at: float) -> int | None:
        """The block that holds a time; None before the first and after the last."""
        block = math.floor((at - self.config.starts_at) / self.config.slot_s)
        return block if 0 <= block < self.config.blocks else None

    def washed_out(self, at: float, block: int) -> bool:
        """Whether a time lies in the part of its block that is not counted."""
        start = self.config.starts_at + block * self.config.slot_s
        return at - start < self.config.washout_s

    def lane_of(self, tenant: str, count: int) -> str:
        """The lane of a tenant's n-th request: the same in every process and after a restart."""
        lot = _lot(self._salt, tenant, count)
        first, second = self.config.pair
        weight = self.config.weight
        if lot < weight or not self._others:
            return first if lot < weight else second
        if lot < 2 * weight:
            return second
        left = (lot - 2 * weight) / (1 - 2 * weight)
        return self._others[min(int(left * len(self._others)), len(self._others) - 1)]


def _lot(salt: bytes, tenant: str, count: int) -> float:
    """A number in [0, 1) that looks random and follows from its arguments."""
    drawn = blake2b(b"%s:%s:%d" % (salt, tenant.encode(), count), digest_size=8).digest()
    return int.from_bytes(drawn) / 2**64
