"""The ordering law once more, inside the engine: what was let through waits there for memory.

Its state is that of the waiting room, which a request has left already, so it is not charged again.
Who can't be in time any more is not dropped here: an engine has taken it.
"""

from __future__ import annotations

from collections.abc import Sequence

from loadtest.roster import Roster
from schedulers.ordering.base import Rank, Waiting
from schedulers.runtime.deciding import Deciding
from schedulers.runtime.waiting_room import WaitingRoom
from simulator.core.hooks import View


class Queueing:
    """The engine's own queue, ranked."""

    def __init__(self, room: WaitingRoom, roster: Roster, said: Deciding) -> None:
        self._room = room
        self._roster = roster
        self._said = said

    def next_up(self, views: Sequence[View], now: float) -> int:
        """Which of those that wait is next."""

        def lowest() -> int:
            ranks = [(self._rank(view, now), place) for place, view in enumerate(views)]
            return min(ranks)[1]

        return self._said.timed(lowest)

    def _rank(self, view: View, now: float) -> Rank:
        request = self._roster[int(view.id)]
        one = Waiting(request=request, kv_tokens=view.prompt_tokens + view.emitted)
        return self._room.ordering.rank(self._room.order, one, now)
