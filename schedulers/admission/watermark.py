"""KV watermarks: green takes all, yellow holds batch and counts normal, red sheds all but vip."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from documents.fields import parameter
from documents.problem import DocumentError, Problem
from schedulers.admission.base import Answer, Unmoved, admission_law, admit, hold, shed
from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.request import Request
from schedulers.signals import Signals, fresh


class Level(StrEnum):
    """How full the KV cache is, as the law takes it."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True)
class WatermarkState:
    """``taken``: normal requests taken at yellow since the reading of ``read_at``."""

    level: Level = Level.GREEN
    read_at: float | None = None
    taken: int = 0


@admission_law
@dataclass(frozen=True, slots=True)
class Watermark(Unmoved):
    """The backpressure source's gateway: three levels of KV use, read by polling.

    What the source leaves open is closed here: levels fall only ``hysteresis`` below where they
    rose, "a few normal" is a quota for each reading, vip is taken at red, and a reading older than
    three polls counts as one level worse.
    """

    name: ClassVar[str] = "watermark"
    summary: ClassVar[str] = (
        "Two marks of KV use: under both all are taken; between them batch waits and normal has a "
        "quota; above both only vip is taken."
    )
    standing: ClassVar[Standing] = Standing.REFERENCE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Acts on what the cache holds and reserves nothing for what it has just let in: "
            "at 4.3 × load the cache is full before the mark is read (KV 1.00, vip TTFT P99 "
            "45 s where 0.9 s is rest, plant S11)."
        ),
        Fault(
            "One constant Retry-After brings all of them back together, unless the host spreads it."
        ),
    )

    yellow: float = parameter(
        default=0.70, minimum=0.05, maximum=0.99, help="KV use that is yellow."
    )
    red: float = parameter(default=0.85, minimum=0.05, maximum=1.0, help="KV use that is red.")
    hysteresis: float = parameter(
        default=0.05, minimum=0.0, maximum=0.5, help="How far below its mark a level ends."
    )
    yellow_quota: int = parameter(
        default=4,
        minimum=0,
        maximum=10_000,
        unit="requests",
        help="Normal requests taken at yellow for each reading.",
    )
    retry_after_s: float = parameter(
        default=5.0, minimum=0.1, maximum=600.0, unit="s", help="What those shed at red are told."
    )

    def __post_init__(self) -> None:
        if self.yellow > self.red:
            raise DocumentError(
                [Problem("yellow", self.yellow, f"must not be above red ({self.red})")]
            )

    def start(self) -> WatermarkState:
        return WatermarkState()

    def offer(
        self, state: WatermarkState, request: Request, seen: Signals | None, now: float
    ) -> tuple[WatermarkState, Answer]:
        reading = fresh(seen, now)
        use = reading.kv() if reading is not None else None
        level, known = state.level, reading is not None and use is not None
        if reading is not None and use is not None and reading.read_at != state.read_at:
            level = self._level(state.level, use)
            state = WatermarkState(level, reading.read_at)
        if not known:
            level = Level.YELLOW if state.level is Level.GREEN else Level.RED
        reason = Reason.KV_CEILING if known else Reason.STALE_SIGNALS
        if level is Level.GREEN or request.band == 0:
            return state, admit(kv_used=use)
        if level is Level.RED:
            return state, shed(reason, self.retry_after_s, kv_used=use)
        return self._yellow(state, request, reason, seen, now)

    def _yellow(
        self,
        state: WatermarkState,
        request: Request,
        reason: Reason,
        seen: Signals | None,
        now: float,
    ) -> tuple[WatermarkState, Answer]:
        if request.band == 1 and state.taken < self.yellow_quota:
            return replace(state, taken=state.taken + 1), admit(reason)
        poll = seen.poll_s if seen is not None else 1.0
        if seen is not None and seen.running == 0 and reason is Reason.KV_CEILING:
            return state, admit(Reason.SERVED_ALONE)
        return state, hold(reason, now + poll)

    def _level(self, before: Level, use: float) -> Level:
        red = self.red - (self.hysteresis if before is Level.RED else 0.0)
        yellow = self.yellow - (self.hysteresis if before is not Level.GREEN else 0.0)
        if use >= red:
            return Level.RED
        return Level.YELLOW if use >= yellow else Level.GREEN
