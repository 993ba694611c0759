"""Hold while the engine is saturated: its queue or its KV cache over a threshold, by tier."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from documents.fields import parameter
from schedulers.admission.base import (
    Answer,
    Ended,
    Reservation,
    Unmoved,
    admission_law,
    admit,
    hold,
)
from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.request import Request
from schedulers.signals import Signals, fresh


class SaturationState(NamedTuple):
    """The last saturation that was read; ``since`` counts requests taken since that reading,
    ``in_flight`` those that are not over."""

    saturation: float | None = None
    read_at: float | None = None
    since: int = 0
    in_flight: int = 0


@admission_law
@dataclass(frozen=True, slots=True)
class Saturation(Unmoved):
    """saturation = max(waiting / queue_depth, kv / kv_threshold), as llm-d's router has it.

    A request waits while that is at or above its tier's ceiling: what is held back there is kept
    for those above. Requests taken since the reading count as if they waited in the engine, so one
    stale number doesn't let a whole burst through. Source: llm-d-router's utilization detector.

    Blind, it says so. Of an engine that tells nothing, saturation is what it has in flight from
    here over ``blind_in_flight`` (``no_signals``), as the same router has it without metrics. A
    reading older than three polls counts as full (fail closed, ``stale_signals``): then one is
    taken at a time, so that traffic shows whether the engine is there, and nobody waits for ever.
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

    blind_in_flight: int = parameter(
        default=100,
        minimum=1,
        maximum=100_000,
        unit="requests",
        help="In flight from here that mean saturated where the engine tells nothing.",
    )

    def start(self) -> SaturationState:
        return SaturationState()

    def offer(
        self, state: SaturationState, request: Request, seen: Signals | None, now: float
    ) -> tuple[SaturationState, Answer]:
        reading = fresh(seen, now)
        if reading is None:
            return self._blind(state, request, seen, now)
        if reading.read_at != state.read_at:
            state = state._replace(read_at=reading.read_at, since=0)
        found = self._saturation(reading, state.since)
        state = state._replace(saturation=found)
        if found < self._ceiling(request):
            return _taken(state), admit(saturation=found)
        if reading.running == 0 and not reading.waiting and state.since == 0:
            return _taken(state), admit(Reason.SERVED_ALONE, saturation=found)
        return state, hold(Reason.SATURATED, now + reading.poll_s, saturation=found)

    def reserve(
        self, state: SaturationState, request: Request, *, prefilled: bool, now: float
    ) -> tuple[SaturationState, Reservation]:
        return state._replace(in_flight=state.in_flight + 1), Reservation()

    def ended(self, state: SaturationState, over: Ended, now: float) -> SaturationState:
        return state._replace(in_flight=max(0, state.in_flight - 1))

    def _blind(
        self, state: SaturationState, request: Request, seen: Signals | None, now: float
    ) -> tuple[SaturationState, Answer]:
        """Without a reading that can be believed it goes by what it has let in."""
        if seen is None:
            found = state.in_flight / self.blind_in_flight
            reason, again_at = Reason.NO_SIGNALS, math.inf
        else:
            found = 0.0 if state.in_flight == 0 else 1.0
            reason, again_at = Reason.STALE_SIGNALS, now + seen.poll_s
        inputs = {"saturation": found, "in_flight": float(state.in_flight)}
        if found < self._ceiling(request):
            return _taken(state), admit(reason, **inputs)
        return state, hold(reason, again_at, **inputs)

    def _ceiling(self, request: Request) -> float:
        return (1.0, self.normal_ceiling, self.batch_ceiling)[request.band]

    def _saturation(self, reading: Signals, since: int) -> float:
        waiting = max(0, reading.waiting or 0) + since
        room = 0
        if reading.max_running is not None and reading.running is not None:
            room = max(0, reading.max_running - reading.running)
        queue = max(0, waiting - room) / self.queue_depth
        return max(queue, (reading.kv() or 0.0) / self.kv_threshold)


def _taken(state: SaturationState) -> SaturationState:
    return state._replace(since=state.since + 1, in_flight=state.in_flight + 1)
