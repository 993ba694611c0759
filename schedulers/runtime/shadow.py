"""A shadow: a second law that sees what the active one saw, and decides what nobody obeys.

It can't know what its own limits would have done to the latencies: where it would have held more
back, the queue that it saw was still the active law's. Its report says how far the two agree. It
is asked whenever the active law is, and at no other time: a tick would step the active law too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from schedulers.concurrency.base import ConcurrencyLaw, Observation
from schedulers.decision import Decision

WITHIN = 0.1
"""Two limits agree when they differ by at most this share of the active one."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first moment at which the two limits did not agree."""

    at: float
    active: int
    shadow: int

    def to_json(self) -> dict[str, Any]:
        """``at`` on the limiter's clock, in seconds."""
        return {"at": self.at, "active": self.active, "shadow": self.shadow}


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """What came of the comparison up to now; counts are steps, one for each observation."""

    steps: int = 0
    agreeing: int = 0
    diverged: Divergence | None = None
    would_have_held: int = 0
    """Grants for which the shadow had no room: requests that it would have kept waiting."""
    granted: int = 0
    would_have_sent: int = 0
    """Steps at which requests waited while the shadow had room for more."""
    decisions: int = 0
    least: int | None = None
    most: int | None = None
    """The lowest and highest limit of the shadow."""

    @property
    def agreement(self) -> float | None:
        """The share of steps at which the limits agreed; None before the first."""
        return self.agreeing / self.steps if self.steps else None

    def to_json(self) -> dict[str, Any]:
        """Every field by its name, and the agreement; null where nothing is known."""
        return {
            "steps": self.steps,
            "agreeing": self.agreeing,
            "agreement": self.agreement,
            "diverged": self.diverged.to_json() if self.diverged else None,
            "would_have_held": self.would_have_held,
            "granted": self.granted,
            "would_have_sent": self.would_have_sent,
            "decisions": self.decisions,
            "least": self.least,
            "most": self.most,
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> ShadowReport:
        """What ``to_json`` gave; KeyError or TypeError where it is no such thing."""
        diverged = given["diverged"]
        return cls(
            steps=given["steps"],
            agreeing=given["agreeing"],
            diverged=Divergence(**diverged) if diverged else None,
            would_have_held=given["would_have_held"],
            granted=given["granted"],
            would_have_sent=given["would_have_sent"],
            decisions=given["decisions"],
            least=given["least"],
            most=given["most"],
        )


def agree(active: int, shadow: int) -> bool:
    """Whether two limits are within a tenth of each other."""
    return abs(active - shadow) <= WITHIN * active


@dataclass(frozen=True, slots=True)
class ShadowState:
    """The shadow law's own state and the report on it: a value, as a law's state is."""

    law_state: Any
    limit: int
    report: ShadowReport = ShadowReport()


def begin(law: ConcurrencyLaw[Any]) -> ShadowState:
    """Before anything was seen."""
    state = law.start()
    limit = law.limit(state)
    return ShadowState(state, limit, ShadowReport(least=limit, most=limit))


def granted(state: ShadowState, in_flight: int) -> ShadowState:
    """A request was let through; ``in_flight`` counts it."""
    report = replace(
        state.report,
        granted=state.report.granted + 1,
        would_have_held=state.report.would_have_held + (in_flight > state.limit),
    )
    return replace(state, report=report)


def observed(
    law: ConcurrencyLaw[Any], state: ShadowState, seen: Observation, now: float, active: int
) -> tuple[ShadowState, Decision | None]:
    """The shadow learns from an observation; ``active`` is the limit that now really holds."""
    law_state, decision = law.step(state.law_state, seen, now)
    limit = law.limit(law_state)
    before = state.report
    same = agree(active, limit)
    diverged = before.diverged
    if diverged is None and not same:
        diverged = Divergence(now, active, limit)
    report = replace(
        before,
        steps=before.steps + 1,
        agreeing=before.agreeing + same,
        diverged=diverged,
        would_have_sent=before.would_have_sent + (seen.waiting > 0 and limit > active),
        decisions=before.decisions + (decision is not None),
        least=limit if before.least is None else min(before.least, limit),
        most=limit if before.most is None else max(before.most, limit),
    )
    return ShadowState(law_state, limit, report), decision


class Shadow:
    """The cell that keeps one shadow beside a Limiter: give it as one of its ``observers``."""

    def __init__(
        self,
        law: ConcurrencyLaw[Any],
        on_decision: Callable[[Decision], None] | None = None,
    ) -> None:
        self._law = law
        self._on_decision = on_decision
        self._state = begin(law)

    @property
    def report(self) -> ShadowReport:
        """Agreement, first divergence, and what it would have held: a frozen value."""
        return self._state.report

    @property
    def limit(self) -> int:
        """What the shadow would allow now."""
        return self._state.limit

    def granted(self, in_flight: int) -> None:
        """The limiter let a request through."""
        self._state = granted(self._state, in_flight)

    def observed(self, seen: Observation, now: float, limit: int) -> None:
        """The limiter's law has learned from this, and now allows ``limit``."""
        self._state, decision = observed(self._law, self._state, seen, now, limit)
        if decision is not None and self._on_decision is not None:
            self._on_decision(decision)
