"""What deciding came to: how often laws were asked, at what cost, and the trace that is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from schedulers.decision import Decision, DecisionPoint, Reason

MOST_LINES = 50_000
"""Lines of the controller trace that one decision point may have in one run."""
_AGAIN_S = 1.0
"""Where a law is asked at every step: the same reason is told again so much later."""

T = TypeVar("T")


class Deciding:
    """Every decision is counted; ``keep`` gets those that the trace holds, ``most`` of a point."""

    def __init__(
        self,
        cost_clock: Callable[[], float],
        keep: Callable[[Decision], None],
        most: float = MOST_LINES,
    ) -> None:
        self._clock = cost_clock
        self._most = most
        self._keep = keep
        self._told = Counter[DecisionPoint]()
        self._last: dict[DecisionPoint, tuple[Reason, float]] = {}
        self.steps = 0
        """Times that a law was asked or told."""
        self.seconds = 0.0
        """What they cost, on the cost clock."""
        self.decisions = 0
        self.left_out = 0
        """Decisions that the trace doesn't hold."""

    def timed(self, ask: Callable[[], T]) -> T:
        """Ask a law."""
        began = self._clock()
        answer = ask()
        self.seconds += self._clock() - began
        self.steps += 1
        return answer

    def tell(self, decision: Decision) -> None:
        """A decision that is made once for each request."""
        self.decisions += 1
        if self._told[decision.point] >= self._most:
            self.left_out += 1
            return
        self._told[decision.point] += 1
        self._keep(decision)

    def tell_changes(
        self, point: DecisionPoint, reason: Reason, now: float, make: Callable[[], Decision]
    ) -> None:
        """A decision that is made again and again: told if its reason is new, or after a second."""
        last = self._last.get(point)
        if last is not None and last[0] is reason and now - last[1] < _AGAIN_S:
            self.decisions += 1
            self.left_out += 1
            return
        self._last[point] = (reason, now)
        self.tell(make())
