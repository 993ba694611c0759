"""Never again: the baseline, and the right answer where the caller retries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.retry.base import Failure, Verdict, never, retry_law


@retry_law
@dataclass(frozen=True, slots=True)
class NoRetry:
    """A failed request has failed."""

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = (
        "Nothing is sent again: the baseline, and right where the caller retries."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault("A refusal that would have been mended by half a second of patience is a failure."),
    )

    def start(self) -> None:
        return None

    def offered(self, state: None, draw: float, now: float) -> tuple[None, Reason | None]:
        return state, None

    def succeeded(self, state: None, now: float) -> None:
        return state

    def failed(
        self,
        state: None,
        failure: Failure,
        draw: float,
        now: float,
    ) -> tuple[None, Verdict]:
        return state, never(Reason.NOT_RETRYABLE)
