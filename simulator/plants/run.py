"""Clients, each with its own law, against one plant; the clock jumps from event to event."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from schedulers.concurrency.base import ConcurrencyLaw, Observation, OutcomeKind
from schedulers.decision import Decision
from simulator.plants.congestion import Congestion, Step, next_step
from simulator.plants.work import Task, Work

ENDLESS = 10**9
_BACKOFF_S, _BACKOFF_CAP_S = 0.5, 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one client brings: a backlog of tasks from ``joins_s`` on, or ``arrivals`` over time."""

    tasks: int = ENDLESS
    arrivals: tuple[float, ...] | None = None
    joins_s: float = 0.0


@dataclass(slots=True)
class Client:
    """One client and what became of its requests. Lists grow in order of time."""

    law: ConcurrencyLaw[Any]
    state: Any
    limit: int
    left: int
    in_flight: int = 0
    granted: int = 0
    peak: int = 0
    again: deque[tuple[Task, int, float]] = field(default_factory=deque)
    arrived: deque[float] = field(default_factory=deque)
    ended: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    sojourns: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    limits: list[tuple[float, int]] = field(default_factory=list)
    """(time, limit), one entry a change."""
    decisions: list[Decision] = field(default_factory=list)


@dataclass(slots=True)
class Outcome:
    """What a run showed."""

    seconds: float
    clients: tuple[Client, ...]

    @property
    def ended(self) -> list[float]:
        return self.clients[0].ended if len(self.clients) == 1 else _merged(self.clients)

    @property
    def refused(self) -> list[float]:
        return sorted(at for client in self.clients for at in client.refused)


def _merged(clients: tuple[Client, ...]) -> list[float]:
    return sorted(at for client in clients for at in client.ended)


# One event on its way: what happens, to whom, with which task (attempts so far, offered at),
# started when, under which serial.
_Event = tuple[float, int, str, int, Any, float, int]


class _Run:
    """The state of one simulation; ``go`` plays it to its end."""

    def __init__(
        self,
        plant: Congestion,
        work: Work,
        loads: tuple[tuple[ConcurrencyLaw[Any], Load], ...],
        steps: tuple[Step, ...],
        seed: int,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.plant, self.steps, self.stepped = plant, steps, 0
        self.slowness = plant.slowness()
        self.tasks: Iterator[Task] = work.tasks(plant.base_s, self.rng)
        self.now = self.progress = 0.0
        self.inside: list[tuple[float, int, int, Any, float, int]] = []
        self.later: list[_Event] = []
        self.order = 0
        self.clients = tuple(self._client(law, load, i) for i, (law, load) in enumerate(loads))
        self.offered = sum(
            load.tasks if load.arrivals is None else len(load.arrivals) for _, load in loads
        )
        self.done = 0

    def _client(self, law: ConcurrencyLaw[Any], load: Load, index: int) -> Client:
        state = law.start()
        for at in load.arrivals or ():
            self._at(at, "arrive", index)
        if load.arrivals is None:
            self._at(load.joins_s, "join", index, load.tasks)
        client = Client(law, state, law.limit(state), 0)
        client.limits.append((load.joins_s, client.limit))
        return client

    def _at(
        self,
        at: float,
        what: str,
        who: int,
        task: Any = None,
        started: float = 0.0,
        serial: int = 0,
    ) -> None:
        self.order += 1
        heapq.heappush(self.later, (at, self.order, what, who, task, started, serial))

    def go(self, end_s: float) -> Outcome:
        while self.done < self.offered:
            pace = self.slowness(len(self.inside))
            ends = math.inf
            if self.inside:
                ends = self.now + max(0.0, self.inside[0][0] - self.progress) * pace
            event = self.later[0][0] if self.later else math.inf
            step = next_step(self.steps, self.stepped)
            at = min(ends, event, step)
            if at > end_s or at == math.inf:
                self.now = min(end_s, max(self.now, at))
                break
            self.progress += (at - self.now) / pace
            self.now = at
            if step <= at:
                self._change()
            elif ends <= event:
                self._leave()
            else:
                self._happen(heapq.heappop(self.later))
        return Outcome(self.now, self.clients)

    def _change(self) -> None:
        self.plant = self.steps[self.stepped].of(self.plant)
        self.slowness = self.plant.slowness()
        self.stepped += 1

    def _leave(self) -> None:
        """A request's work is done; its answer is under way."""
        _, _, who, task, started, serial = heapq.heappop(self.inside)
        if self.plant.network_s > 0.0:
            self._at(self.now + self.plant.network_s, "answer", who, task, started, serial)
        else:
            self._answer(who, task, started, serial)

    def _happen(self, event: _Event) -> None:
        _, _, what, who, task, started, serial = event
        client = self.clients[who]
        if what == "answer":
            self._answer(who, task, started, serial)
        elif what == "refuse":
            self._refuse(who, task, started, serial)
        elif what == "join":
            client.left = task
            self._pump(who)
        elif what == "again":
            client.again.append(task)
            self._pump(who)
        else:
            client.left += 1
            client.arrived.append(self.now)
            self._pump(who)

    def _answer(self, who: int, task: Any, started: float, serial: int) -> None:
        client = self.clients[who]
        self.done += 1
        client.ended.append(self.now)
        client.latencies.append(self.now - started)
        client.sojourns.append(self.now - task[2])
        self._learn(client, OutcomeKind.OK, started, serial, task[0])
        self._pump(who)

    def _refuse(self, who: int, task: Any, started: float, serial: int) -> None:
        """The slot is free at once; the task comes back after full jitter."""
        client = self.clients[who]
        client.refused.append(self.now)
        self._learn(client, OutcomeKind.REJECTED, started, serial, task[0])
        work, attempts, offered = task
        wait = self.rng.random() * min(_BACKOFF_CAP_S, _BACKOFF_S * 2.0**attempts)
        self._at(self.now + wait, "again", who, (work, attempts + 1, offered))
        self._pump(who)

    def _learn(
        self, client: Client, kind: OutcomeKind, started: float, serial: int, task: Task
    ) -> None:
        seen = Observation(
            started_at=started,
            in_flight=client.in_flight,
            kind=kind,
            latency=self.now - started,
            waiting=min(client.left, 1 << 20) + len(client.again),
            serial=serial,
            granted=client.granted,
            prompt_tokens=task.prompt_tokens,
            output_tokens=task.output_tokens,
        )
        client.in_flight -= 1
        client.state, decision = client.law.step(client.state, seen, self.now)
        limit = client.law.limit(client.state)
        if decision is not None:
            client.decisions.append(decision)
        if limit != client.limit:
            client.limit = limit
            client.limits.append((self.now, limit))

    def _pump(self, who: int) -> None:
        """Send while the law has room: those refused before first."""
        client = self.clients[who]
        while client.in_flight < client.limit and (client.again or client.left):
            if client.again:
                task = client.again.popleft()
            else:
                client.left -= 1
                offered = client.arrived.popleft() if client.arrived else self.now
                task = (next(self.tasks), 0, offered)
            client.granted += 1
            client.in_flight += 1
            client.peak = max(client.peak, client.in_flight)
            if len(self.inside) >= self.plant.reject_at:
                at = self.now + self.plant.reject_s
                self._at(at, "refuse", who, task, self.now, client.granted)
            else:
                self.order += 1
                due = self.progress + task[0].seconds
                entry = (due, self.order, who, task, self.now, client.granted)
                heapq.heappush(self.inside, entry)


def run(
    plant: Congestion,
    work: Work,
    loads: tuple[tuple[ConcurrencyLaw[Any], Load], ...],
    *,
    steps: tuple[Step, ...] = (),
    end_s: float = 36_000.0,
    seed: int = 1,
) -> Outcome:
    """Play the loads, each under its own law, until all is done or ``end_s`` has come."""
    return _Run(plant, work, loads, steps, seed).go(end_s)
