"""The whole schedule, computed once from one seed, and the slices that workers take of it.

Every question has a random stream of its own (when, how long a prompt, how long an answer, whose,
which words), so changing the lengths of a workload moves no arrival. A slice holds every N-th
request of the one schedule: the union over N workers is that schedule, and nothing is re-anchored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from documents.problem import DocumentError
from loadtest.arrivals.base import ArrivalProcess, ClosedLoop, Instants, OpenLoop
from loadtest.seeds import Seeded, seeded
from loadtest.workloads.base import DEFAULT_TENANT, Shape, Workload, sent_alone

BLOCK = 1024
"""Requests whose lengths are drawn together; a closed loop's number of requests has no end."""


class _Stream(IntEnum):
    """Purposes of randomness. Values are part of what a seed means: never renumber."""

    ARRIVALS = 0
    PROMPT_LENGTHS = 1
    OUTPUT_LENGTHS = 2
    TENANTS = 3
    PROMPTS = 4
    LEAVING = 5
    JITTER = 6
    SESSIONS = 7


@dataclass(frozen=True, slots=True)
class Job:
    """One request as scheduled. ``intended_at`` is in seconds from the schedule's start."""

    index: int
    intended_at: float
    shape: Shape


@dataclass(frozen=True, slots=True)
class Slice:
    """Part ``number`` of ``of``: the requests, or the slots, whose index leaves that remainder."""

    number: int = 0
    of: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.of:
            raise ValueError(f"slice {self.number} of {self.of} does not exist")

    @classmethod
    def parse(cls, text: str) -> Slice:
        """``K/N`` with K from 0 to N − 1."""
        number, _, of = text.partition("/")
        return cls(int(number), int(of))


WHOLE = Slice()


class Schedule:
    """What is asked and when, for one arrival process, workload and seed."""

    def __init__(  # noqa: PLR0913 - what makes a schedule, all but two by keyword
        self,
        arrivals: ArrivalProcess,
        workload: Workload,
        *,
        duration: float,
        seed: int,
        salt: str = "",
        part: Slice = WHOLE,
        sessions: bool = False,
    ) -> None:
        """``sessions``: whoever asks plays them; else DocumentError where the workload has some."""
        if not sessions and (problems := sent_alone(workload)):
            raise DocumentError(problems)
        self.arrivals = arrivals
        self.workload = workload
        self.duration = duration
        self.part = part
        self._seed = seed
        self._salt = int.from_bytes(hashlib.sha256(salt.encode()).digest()[:8])
        self._block: tuple[int, list[Shape]] = (-1, [])
        self._seeds: tuple[int, list[Seeded]] = (-1, [])

    @cached_property
    def instants(self) -> Instants:
        """Every instant of the whole schedule, whatever the slice; empty for a closed loop."""
        if not isinstance(self.arrivals, OpenLoop):
            return np.empty(0)
        return self.arrivals.instants(self.duration, self._rng(_Stream.ARRIVALS))

    @property
    def closed_loop(self) -> ClosedLoop | None:
        """The process, when it is a closed loop."""
        return self.arrivals if isinstance(self.arrivals, ClosedLoop) else None

    @property
    def slots(self) -> int:
        """Slots of a closed loop that fall to this slice."""
        total = self.closed_loop.concurrency if self.closed_loop else 0
        return len(range(self.part.number, total, self.part.of))

    @property
    def offered(self) -> int | None:
        """How many requests this slice will offer; None for a closed loop."""
        return None if self.closed_loop else len(self.instants[self.part.number :: self.part.of])

    def jobs(self) -> Iterator[Job]:
        """This slice's requests of an open loop, in order of their instants."""
        mine = self.instants[self.part.number :: self.part.of]
        for first in range(0, len(mine), BLOCK):  # a million floats would take 32 MB at once
            for turn, instant in enumerate(mine[first : first + BLOCK].tolist(), first):
                index = self.index(turn)
                yield Job(index, instant, self.shape(index))

    def index(self, turn: int) -> int:
        """The index in the whole schedule of this slice's ``turn``-th request."""
        return self.part.number + turn * self.part.of

    def shape(self, index: int) -> Shape:
        """Lengths and tenant of one request; the same whatever slice asks."""
        block, place = divmod(index, BLOCK)
        if self._block[0] != block:
            self._block = (block, self._draw(block))
        return self._block[1][place]

    def prompt(self, job: Job) -> str:
        """The words of one request, fixed by seed, salt and index."""
        return self.workload.prompt(job.shape, self._prompt_rng(job.index))

    def session_rng(self, number: int) -> np.random.Generator:
        """The randomness of one session."""
        return self._rng(_Stream.SESSIONS, number)

    def tenant(self, rng: np.random.Generator) -> str:
        """Whose a session is, by the workload's shares."""
        names, shares = self._shares()
        return names[int(rng.choice(len(names), p=shares))]

    def _shares(self) -> tuple[list[str], Instants]:
        names = list(self.workload.tenants) or [DEFAULT_TENANT]
        shares = np.array([self.workload.tenants.get(name, 1.0) for name in names], dtype=float)
        return names, shares / shares.sum()

    def leaving(self, index: int) -> float:
        """An even draw in [0, 1) for whether a request's client goes away."""
        return float(self._rng(_Stream.LEAVING, index).random())

    def jitter(self, index: int, failed: int) -> float:
        """An even draw in [0, 1) for the wait after a request's ``failed``-th failure."""
        return float(self._rng(_Stream.JITTER, index, failed).random())

    def _draw(self, block: int) -> list[Shape]:
        prompts = self.workload.prompt_lengths(BLOCK, self._rng(_Stream.PROMPT_LENGTHS, block))
        outputs = self.workload.output_lengths(BLOCK, self._rng(_Stream.OUTPUT_LENGTHS, block))
        names, shares = self._shares()
        picks = self._rng(_Stream.TENANTS, block).choice(len(names), size=BLOCK, p=shares)
        columns = zip(prompts.tolist(), outputs.tolist(), picks.tolist(), strict=True)
        return [Shape(prompt, output, names[pick]) for prompt, output, pick in columns]

    def _prompt_rng(self, index: int) -> np.random.Generator:
        """What ``_rng`` gives for a request's words, seeded by the block."""
        block, place = divmod(index, BLOCK)
        if self._seeds[0] != block:
            numbers = range(block * BLOCK, (block + 1) * BLOCK)
            self._seeds = (block, seeded(self._seed, (int(_Stream.PROMPTS), self._salt), numbers))
        seed: Any = self._seeds[1][place]  # NumPy's own types know no seed but its own
        return np.random.Generator(np.random.PCG64(seed))

    def _rng(self, stream: _Stream, *key: int) -> np.random.Generator:
        return np.random.default_rng(
            np.random.SeedSequence(self._seed, spawn_key=(int(stream), *key))
        )
