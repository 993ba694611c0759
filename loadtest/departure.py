"""A request ready to leave: all of it is done ahead that does not depend on when it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from engines.answer import Answer
from engines.request import CompletionRequest
from loadtest.inflight import Flight
from schedulers.decision import Reason


class Call(Protocol):
    """The part of ``engines.client.Call`` that load needs."""

    def begin(self) -> bool:
        """Send it here and now, if a connection is ready; else ``answer`` will."""
        ...

    async def answer(self) -> Answer: ...

    def abandon(self) -> None:
        """Close what was begun, without an answer."""
        ...


@dataclass(slots=True, eq=False)
class Departure:
    """What is prepared of a request, and how far its leaving has come."""

    flight: Flight
    request: CompletionRequest
    call: Call | None = None
    """Made ahead, for the first attempt; None: made when it is due."""
    begun: bool = False
    """The call is sent, and not waited for yet."""
    entry: Any = None
    """The policy's, while it is let through."""
    refused: Reason | None = None
    """Why the policy's retry law lets it not even ask."""
