"""One slice's carrier, as the process that leads a run sees it: start it, hear it, stop it.

What carries the slice differs: a process of this machine (``crew_local``), or another one that is
reached through a broker. What is known of it, and what becomes of what it says, is here.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from loadtest.execution import Measured, Start
from loadtest.measured_json import from_json
from loadtest.scenario import Scenario
from loadtest.schedule import Slice

STOP_WITHIN = 3.0
"""Seconds from being asked to stop to being killed."""

Message = dict[str, Any]
Heard = Callable[[Slice, Message], None]
"""Who takes what a carrier says."""


class Member(ABC):
    """``listening`` is done when nothing more will come: then ``measured`` stands, or ``lost``."""

    def __init__(self, part: Slice, name: str, heard: Heard) -> None:
        self.part = part
        self.name = name
        self.measured: Measured | None = None
        self.lost = ""
        """Why it was given up; empty while it is heard."""
        self.refused = ""
        """What it said instead of getting ready."""
        self.ready = asyncio.Event()
        """Set when it is ready, or never will be."""
        self.listening: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._heard = heard

    @property
    def files(self) -> Path | None:
        """Where its samples grow on this machine; None where it sends them."""
        return None

    @abstractmethod
    async def start(self, scenario: Scenario) -> None:
        """Have it compute the schedule and say that it is ready; returns before that."""

    async def meet(self) -> None:  # noqa: B027 - one machine has one clock
        """Compare its clock with ours, once it is ready; TimeoutError where it does not answer."""

    @abstractmethod
    def go(self, start: Start) -> None:
        """Name the common start, which is on our clocks."""

    @abstractmethod
    def cancel(self) -> None:
        """Ask it to stop: it closes what is open and reports."""

    @abstractmethod
    def kill(self) -> None:
        """Stop it now, and hear it no longer."""

    def about(self) -> Mapping[str, Any]:
        """What the report's row on it says beside what it measured."""
        return {}

    def doubts(self) -> tuple[str, ...]:
        """Sentences on what makes the whole result invalid: that it was lost, to begin with."""
        if not self.lost:
            return ()
        left = "its part of the load was not sent to the end"
        kept = "what it had under way is counted as cancelled. Run it again."
        return (f"{self.name} {self.lost}: {left}, and {kept}",)

    def _take(self, message: Message) -> None:
        kind = message["type"]
        if kind == "ready":
            self.ready.set()
        elif kind == "measured":
            self.measured = from_json(message["measured"])
        elif kind == "error":
            self.refused = f"said: {message['message']}"
        else:
            self._heard(self.part, message)


def row_of(member: Member) -> dict[str, Any]:
    """What is known of it at any time: its slice, why it was given up, where it is."""
    part = f"{member.part.number}/{member.part.of}"
    return {"slice": part, "lost": member.lost, **member.about()}
