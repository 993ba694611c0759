"""A closed loop: a fixed number of users who wait for the answer, think, and ask again.

The engine's speed sets the rate, so a slow engine is asked less: right for batch clients and for
finding a ceiling, wrong for latency under a load that does not wait. Reports label it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from loadtest.arrivals.base import arrival_process


@arrival_process
@dataclass(frozen=True, slots=True)
class Closed:
    name: ClassVar[str] = "closed"
    summary: ClassVar[str] = "A fixed number of slots; the next request is due after the answer."
    open_loop: ClassVar[bool] = False

    concurrency: int = parameter(
        minimum=1, maximum=20_000, unit="requests", help="slots, each with one request at a time"
    )
    think_s: float = parameter(
        default=0.0, minimum=0.0, maximum=3_600, unit="s", help="pause after each answer"
    )
    failure_pause_s: float = parameter(
        default=0.1,
        minimum=0.0,
        maximum=3_600,
        unit="s",
        help="least pause after a failure, so that a dead target is not hammered",
    )

    def expected(self, duration: float) -> None:  # noqa: ARG002
        return None

    def pause(self, *, success: bool) -> float:
        return self.think_s if success else max(self.think_s, self.failure_pause_s)
