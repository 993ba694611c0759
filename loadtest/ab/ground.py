"""What a comparison stands on: one engine a lane, what tells them apart, and a clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadtest.driver import Client
from measurement.doubted import Stall
from schedulers.signals import Signals


class EngineLost(RuntimeError):  # noqa: N818 - reads as what happened
    """An engine that the comparison had started itself is gone."""


def nobody_lost() -> str:
    """For engines that others look after."""
    return ""


def never_still(since: float, until: float) -> Sequence[Stall]:  # noqa: ARG001 - of a virtual clock
    """Where the clock stands still with the client."""
    return ()


@dataclass(frozen=True)
class Ground:
    """By lane; ``clock`` gives the raw seconds that the clients stamp with."""

    clients: Mapping[str, Client]
    engines: Mapping[str, str]
    """Fingerprints: equal for engines that can be told apart by nothing that we can see."""
    clock: Callable[[], float]
    lead: float = 0.25
    """Seconds between everything being ready and the schedule's start."""
    lost: Callable[[], str] = nobody_lost
    """Which engine of our own has died, in words; empty while none has."""
    signals: Mapping[str, Callable[[], Signals | None]] = field(default_factory=dict)
    """By lane, the engine's last reading; a lane without one says nothing of itself."""
    stalls: Callable[[float, float], Sequence[Stall]] = never_still
    """When the client stood still between two moments of ``clock``."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """Profile, its source and its stated error, where the numbers are a model's."""
