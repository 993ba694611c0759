"""Sessions in a closed loop: each slot plays one, turn by turn, then begins the next.

A turn that fails ends its session, as an agent without an answer has nothing to go on with.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from loadtest.arrivals.base import ClosedLoop
from loadtest.schedule import Job, Schedule
from loadtest.workloads.base import Sessions, Shape, Turn
from simulator.core.content import Runs

_SHARED = "shared"


@dataclass(slots=True, eq=False)
class Session:
    """One agent, by its number of all of a seed, and the turns that it has not asked for yet."""

    number: int
    tenant: str
    turns: deque[Turn]
    context: int = 0
    """Tokens that it has heard and said."""
    asked: int = 0
    """Turns up to now, the one that goes on among them."""
    began: int = 0
    """Its context at the start of its last turn."""
    grown: int | None = None
    """By how much that was more than at the start of the turn before; None of the first."""

    def take(self) -> Turn:
        """Its next turn."""
        turn = self.turns.popleft()
        self.grown = turn.prompt_tokens - self.began if self.asked else None
        self.context = self.began = turn.prompt_tokens
        self.asked += 1
        return turn


def _unheard(session: Session, at: float) -> None:
    """Nobody counts agents."""


class SessionFeed:
    """The n-th session of a seed is the same whatever slot comes to play it."""

    def __init__(self, schedule: Schedule, process: ClosedLoop, workload: Sessions) -> None:
        self._schedule = schedule
        self._process = process
        self._workload = workload
        self._begun = self._asked = 0
        self._due: list[tuple[float, int, Session]] = []
        self._open: dict[int, Session] = {}
        self.over: Callable[[Session, float], None] = _unheard
        """Told who asks no more, and when."""
        self._contents: dict[int, Runs] = {}
        for _ in range(schedule.slots):
            self._push(0.0, self._begin())

    @property
    def due(self) -> float:
        """When the next turn is; infinity: nobody has one."""
        return self._due[0][0] if self._due else math.inf

    def take(self) -> Job:
        """The next turn."""
        at, _, session = heapq.heappop(self._due)
        turn = session.take()
        index, self._asked = self._asked, self._asked + 1
        self._open[index] = session
        self._contents[index] = self._content(session, turn)
        return Job(index, at, Shape(turn.prompt_tokens, turn.output_tokens, session.tenant))

    def session(self, index: int) -> Session:
        """Whose turn an open request is."""
        return self._open[index]

    def content(self, index: int) -> Runs:
        """What the tokens of an open request are: its session's, from the first on."""
        return self._contents[index]

    def ended(self, index: int, at: float, *, success: bool) -> None:
        """Its session goes on after its tool's work, or another takes the slot."""
        session = ended = self._open.pop(index)
        del self._contents[index]
        if not success or not session.turns:
            session = self._begin()
        wait = session.turns[0].wait_s + self._process.pause(success=success)
        goes_on = at + wait < self._schedule.duration
        if goes_on:
            self._push(at + wait, session)
        if session is not ended or not goes_on:
            self.over(ended, at)

    def _push(self, at: float, session: Session) -> None:
        heapq.heappush(self._due, (at, session.number, session))

    def _begin(self) -> Session:
        rng = self._schedule.session_rng(self._begun)
        turns = self._workload.session(rng)
        tenant = self._schedule.tenant(rng)
        session = Session(self._begun, tenant, deque(turns))
        self._begun += 1
        return session

    def _content(self, session: Session, turn: Turn) -> Runs:
        shared = min(self._workload.shared_tokens, turn.prompt_tokens)
        own = turn.prompt_tokens + turn.output_tokens - shared
        parts = ((_SHARED, shared), (("session", session.number), own))
        return Runs(tuple(part for part in parts if part[1]))
