"""The ordering law once more, inside the engine: what was let through waits there for memory.

Its state is that of the waiting room, which a request has left already, so it is not charged again.
Who can't be in time any more is not dropped here: an engine has taken it. As in the room, requests
of one tenant and tier keep their order where the law says so, and nobody is ranked at each turn.
"""

from __future__ import annotations

from loadtest.roster import Roster
from schedulers.ordering.base import Waiting
from schedulers.runtime.deciding import Deciding
from schedulers.runtime.flow import Flow, first_of
from schedulers.runtime.waiting_room import WaitingRoom
from simulator.core.hooks import View


class Queueing:
    """The engine's own queue, as its model's ``line``."""

    def __init__(self, room: WaitingRoom, roster: Roster, said: Deciding) -> None:
        self._room = room
        self._roster = roster
        self._said = said
        self._flows: dict[tuple[int, str], Flow] = {}
        """By band and tenant; none is empty."""
        self._waiting: dict[str, Waiting] = {}
        self._names: dict[int, str] = {}
        """By serial."""

    def joined(self, view: View) -> None:
        """It waits now, or again: what it had said is part of its context then."""
        request = self._roster[int(view.id)]
        one = Waiting(request=request, kv_tokens=view.prompt_tokens + view.emitted)
        self._waiting[view.id], self._names[request.serial] = one, view.id
        self._flows.setdefault((request.band, request.tenant), Flow()).add(one)

    def left(self, name: str) -> None:
        """It runs, or was given up."""
        one = self._waiting.pop(name)
        request = one.request
        del self._names[request.serial]
        flow = self._flows[request.band, request.tenant]
        flow.remove(one)
        if not flow:
            del self._flows[request.band, request.tenant]

    def first(self, now: float) -> str:
        """Which of those that wait is next."""
        room = self._room
        one = self._said.timed(
            lambda: first_of(self._flows.values(), room.laws.ordering, room.laws.order, now)
        )
        if one is None:
            raise LookupError("nobody waits, so nobody is next")
        return self._names[one.request.serial]
