"""When the next request is due: from a schedule, open or closed, or from a trace."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from loadtest.arrivals.base import ClosedLoop
from loadtest.schedule import Job, Schedule
from loadtest.simulation.sessions import SessionFeed
from loadtest.workloads.base import Sessions
from simulator.core.content import Content


class Feed(Protocol):
    """Times are seconds from the schedule's start."""

    @property
    def due(self) -> float:
        """When the next request is due, as far as is known; infinity: none."""
        ...

    def take(self) -> Job:
        """The next request."""
        ...

    def content(self, index: int) -> Content | None:
        """What the tokens of an open request are; None: like no other's."""
        ...

    def ended(self, index: int, at: float, *, success: bool) -> None:
        """One that was taken is over."""
        ...


class OpenFeed:
    """Requests that come whatever becomes of those before."""

    def __init__(
        self, jobs: Iterable[Job], contents: Callable[[int], Content | None] = lambda _: None
    ) -> None:
        self._contents = contents
        self._jobs: Iterator[Job] = iter(jobs)
        self._next = next(self._jobs, None)
        self.due = math.inf if self._next is None else self._next.intended_at

    def take(self) -> Job:
        job = self._next
        assert job is not None  # noqa: S101 - something was due
        self._next = next(self._jobs, None)
        self.due = math.inf if self._next is None else self._next.intended_at
        return job

    def content(self, index: int) -> Content | None:
        """As whoever made the jobs says."""
        return self._contents(index)

    def ended(self, index: int, at: float, *, success: bool) -> None:
        """Nothing waits for an answer in an open loop."""


class ClosedFeed:
    """Slots, each with one request at a time."""

    def __init__(self, schedule: Schedule, process: ClosedLoop) -> None:
        self._schedule = schedule
        self._process = process
        self._turn = 0
        self._slots = [0.0] * schedule.slots

    @property
    def due(self) -> float:
        return self._slots[0] if self._slots else math.inf

    def take(self) -> Job:
        at = heapq.heappop(self._slots)
        index = self._schedule.index(self._turn)
        self._turn += 1
        return Job(index, at, self._schedule.shape(index))

    def content(self, index: int) -> Content | None:  # noqa: ARG002 - a protocol's argument
        """Every prompt is fresh."""
        return None

    def ended(self, index: int, at: float, *, success: bool) -> None:  # noqa: ARG002
        due = at + self._process.pause(success=success)
        if due < self._schedule.duration:
            heapq.heappush(self._slots, due)


def feed_of(schedule: Schedule) -> Feed:
    """The feed that fits the schedule's process."""
    loop, workload = schedule.closed_loop, schedule.workload
    if loop and isinstance(workload, Sessions):
        return SessionFeed(schedule, loop, workload)
    return ClosedFeed(schedule, loop) if loop else OpenFeed(schedule.jobs())
