"""A constant limit: the baseline that every other law is compared with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.concurrency.base import LIMIT_CEILING, Observation, concurrency_law
from schedulers.decision import Decision
from schedulers.law import Fault, Standing


@concurrency_law
@dataclass(frozen=True, slots=True)
class Fixed:
    """The same limit for ever, whatever is observed."""

    name: ClassVar[str] = "fixed"
    summary: ClassVar[str] = "A constant limit: the baseline that every other law is compared with."
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Right for one capacity only: too low wastes the engine, too high queues or is "
            "refused. On the congestion plant 2,000 tasks take 100 s at limit 8 and 71 s at 64; "
            "the optimum (45 to 55) takes 17.8 s."
        ),
    )

    size: int = parameter(
        name="limit",
        default=32,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="requests",
        help="How many requests may be in flight.",
    )

    def start(self) -> None:
        return None

    def step(self, state: None, seen: Observation, now: float) -> tuple[None, Decision | None]:  # noqa: ARG002
        return state, None

    def limit(self, state: None) -> int:  # noqa: ARG002
        return self.size

    def until(self, state: None) -> float:  # noqa: ARG002
        return math.inf

    def bounds(self) -> tuple[int, int]:
        return self.size, self.size
