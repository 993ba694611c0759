"""Everything is taken: the baseline that every other law is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schedulers.admission.base import Answer, Unmoved, admission_law, admit
from schedulers.law import Fault, Standing
from schedulers.request import Request
from schedulers.signals import Signals


@admission_law
@dataclass(frozen=True, slots=True)
class Always(Unmoved):
    """No question asked: what is offered is admitted."""

    name: ClassVar[str] = "always"
    summary: ClassVar[str] = "Takes every request: the baseline that other laws are compared with."
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Under overload the queue grows without end and everybody is late: on plant S11 "
            "vip's TTFT P99 is 400 times what it is at rest."
        ),
    )

    def start(self) -> None:
        return None

    def offer(
        self,
        state: None,
        request: Request,
        seen: Signals | None,
        now: float,
    ) -> tuple[None, Answer]:
        return state, admit()
