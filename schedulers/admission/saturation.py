"""Hold while the engine is saturated: its queue or its KV cache over a threshold, by tier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.admission.base import Answer, Unmoved, admission_law, admit, hold
from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.request import Request
from schedulers.signals import Signals, fresh


@dataclass(frozen=True, slots=True)
class SaturationState:
    """The last saturation that was read; ``since`` counts requests taken since that reading."""

    saturation: float | None = None
    read_at: float | None = None
    since: int = 0


@admission_law
@dataclass(frozen=True, slots=True)
class Saturation(Unmoved):
    """saturation = max(waiting / queue_depth, kv / kv_threshold), as llm-d's router has it.

    A request waits while that is at or above its tier's ceiling: what is held back there is kept
    for those above. Requests taken since the reading count as if they waited in the engine, so one
    stale number doesn't let a whole burst through. A reading older than three polls counts as full
    (fail closed). Source: llm-d/llm-d-router, utilization detector.
    """

    name: ClassVar[str] = "saturation"
    summary: ClassVar[str] = (
        "Holds requests while the engine's queue or KV use is over a threshold; lower tiers are "
        "held "
        "sooner."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Reads where the engine stands and not where what runs is going: KV that running "
            "requests will still grow into is not seen, so preemptions remain."
        ),
    )

    queue_depth: float = parameter(
        default=5.0,
        minimum=1.0,
        maximum=100_000.0,
        unit="requests",
        help="Requests waiting in the engine that mean saturated.",
    )
    kv_threshold: float = parameter(
        default=0.8, minimum=0.05, maximum=1.0, help="KV use that means saturated."
    )
    normal_ceiling: float = parameter(
        default=0.9, minimum=0.05, maximum=1.0, help="The saturation at which normal waits; vip: 1."
    )
    batch_ceiling: float = parameter(
        default=0.75, minimum=0.05, maximum=1.0, help="The saturation at which batch waits."
    )

    def start(self) -> SaturationState:
        return SaturationState()

    def offer(
        self, state: SaturationState, request: Request, seen: Signals | None, now: float
    ) -> tuple[SaturationState, Answer]:
        reading = fresh(seen, now)
        if reading is None:
            poll = seen.poll_s if seen is not None else 1.0
            return state, hold(Reason.STALE_SIGNALS, now + poll)
        if reading.read_at != state.read_at:
            state = SaturationState(None, reading.read_at)
        found = self._saturation(reading, state.since)
        state = SaturationState(found, state.read_at, state.since)
        ceiling = (1.0, self.normal_ceiling, self.batch_ceiling)[request.band]
        if found < ceiling:
            taken = SaturationState(found, state.read_at, state.since + 1)
            return taken, admit(saturation=found)
        if reading.running == 0 and not reading.waiting and state.since == 0:
            taken = SaturationState(found, state.read_at, 1)
            return taken, admit(Reason.SERVED_ALONE, saturation=found)
        return state, hold(Reason.SATURATED, now + reading.poll_s, saturation=found)

    def _saturation(self, reading: Signals, since: int) -> float:
        waiting = max(0, reading.waiting or 0) + since
        room = 0
        if reading.max_running is not None and reading.running is not None:
            room = max(0, reading.max_running - reading.running)
        queue = max(0, waiting - room) / self.queue_depth
        return max(queue, (reading.kv() or 0.0) / self.kv_threshold)
