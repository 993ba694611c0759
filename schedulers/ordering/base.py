"""What an ordering law is: a rank for each request that waits; the lowest goes first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from documents.registry import Registry
from schedulers.decision import Decision, DecisionPoint, Reason
from schedulers.law import Law
from schedulers.request import Request
from schedulers.state import NOTHING

Rank = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A request that waits; what agents bring besides is for laws that know agents."""

    request: Request
    kv_tokens: int = 0
    """Tokens of its context, whether cached or not."""
    progress: float = 0.0
    """The share of its agent's task that is done, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Who else waits: what fairness is fair among."""

    tenants: frozenset[str] = frozenset()
    tiers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, queue: Sequence[Waiting]) -> Backlog:
        """The tenants and tiers of a queue."""
        return cls(
            frozenset(one.request.tenant for one in queue),
            frozenset(one.request.tier for one in queue),
        )

    def plus(self, one: Waiting) -> Backlog:
        """With one more; itself where that changes nothing."""
        tenant, tier = one.request.tenant, one.request.tier
        if tenant in self.tenants and tier in self.tiers:
            return self
        return Backlog(self.tenants | {tenant}, self.tiers | {tier})


class Charge(NamedTuple):
    """What one request's going has changed, in its law's own measure. The host keeps it, and hands
    it back where the request was refused without service."""

    amount: float
    """By which its tenant's account grew."""
    owed: Mapping[str, float] = NOTHING
    """By tier: how much more is owed to it than before; less than nothing where that was spent."""
    at: float = 0.0


class Motion(StrEnum):
    """How ranks change while a law's state stays as it is: what a host may keep them in."""

    STANDS = "stands"
    """Not at all."""
    STEPS = "steps"
    """At moments that ``stands_until`` tells."""
    RISES = "rises"
    """Steadily, as ``rise`` tells."""
    MOVES = "moves"
    """In any way: all that wait are ranked anew each time."""


@dataclass(frozen=True, slots=True)
class Rise:
    """A rank begins with −max(0, now − since) / per, both in seconds; the rest of it stands."""

    since: float
    per: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """``index`` is the next in the queue, None where nobody is left; ``drop``: the hopeless."""

    index: int | None
    drop: tuple[int, ...] = ()
    reason: Reason = Reason.IN_TURN


S = TypeVar("S")


class OrderingLaw(Law, Protocol[S]):
    """Pure functions over a frozen, JSON-able state that the host keeps.

    ``motion`` says how ranks change as time passes, so that a host needs not ask for all of them
    at each turn.
    """

    motion: ClassVar[Motion]
    fifo_within_tenant: ClassVar[bool]
    """Whether requests of one tenant and tier go in order of arrival, so that only heads matter."""

    def start(self) -> S:
        """The state before anything was seen."""
        ...

    def arrived(self, state: S, one: Waiting, others: Backlog, now: float) -> S:
        """It has joined the queue, in which ``others`` wait."""
        ...

    def rank(self, state: S, one: Waiting, now: float) -> Rank:
        """The lowest is next; serials break ties, so that equals keep their order."""
        ...

    def stands_until(self, one: Waiting, now: float) -> float:
        """Where ranks change in steps: its rank at ``now`` is the same until then."""
        ...

    def rise(self, one: Waiting) -> Rise:
        """Where ranks rise steadily: how its does."""
        ...

    def hopeless(self, one: Waiting, now: float) -> bool:
        """It can't meet its deadline any more, and the policy drops such."""
        ...

    def hopeless_from(self, one: Waiting) -> float:
        """It is not hopeless before, so a host needs not ask; infinity: it never is."""
        ...

    def left(self, state: S, one: Waiting, others: Backlog, now: float) -> S:
        """It has been chosen and sent; ``others`` still wait."""
        ...

    def charge(self, before: S, after: S, one: Waiting, now: float) -> Charge | None:
        """What its going, from ``before`` to ``after``, has charged; None: nothing."""
        ...

    def refused(self, state: S, one: Waiting, charge: Charge, now: float) -> S:
        """The engine would not have it (429, 503) and did nothing for it: as if it had not gone."""
        ...

    def ended(self, state: S, one: Waiting, output_tokens: int | None, now: float) -> S:
        """It is over with so many output tokens; None where that is not known."""
        ...


class Memoryless:
    """For laws that rank by what a request is."""

    __slots__ = ()
    motion: ClassVar[Motion] = Motion.STANDS
    fifo_within_tenant: ClassVar[bool] = False

    def start(self) -> None:
        return None

    def arrived(self, state: Any, one: Waiting, others: Backlog, now: float) -> Any:
        return state

    def stands_until(self, one: Waiting, now: float) -> float:
        return math.inf

    def rise(self, one: Waiting) -> Rise:
        raise NotImplementedError(f"{type(self).__name__} doesn't say how its ranks rise")

    def hopeless(self, one: Waiting, now: float) -> bool:
        return False

    def hopeless_from(self, one: Waiting) -> float:
        """A law that drops and doesn't say from when is asked each time."""
        return math.inf if type(self).hopeless is Memoryless.hopeless else -math.inf

    def left(self, state: Any, one: Waiting, others: Backlog, now: float) -> Any:
        return state

    def charge(self, before: Any, after: Any, one: Waiting, now: float) -> Charge | None:
        return None

    def refused(self, state: Any, one: Waiting, charge: Charge, now: float) -> Any:
        return state

    def ended(self, state: Any, one: Waiting, output_tokens: int | None, now: float) -> Any:
        return state


def too_late(one: Waiting, now: float, margin_s: float = 0.0) -> bool:
    """Its deadline lies before the end of its own service, were it to begin now."""
    request = one.request
    if request.deadline_at is None or request.service_s is None:
        return request.deadline_at is not None and now > request.deadline_at
    return now + request.service_s + margin_s > request.deadline_at


def late_from(one: Waiting, margin_s: float = 0.0) -> float:
    """``too_late`` is not true before: sooner by what sums of such sizes are rounded by."""
    request = one.request
    if request.deadline_at is None:
        return math.inf
    parts = (request.deadline_at, request.service_s or 0.0, margin_s)
    since = parts[0] - parts[1] - parts[2] - 1e-12 * sum(map(abs, parts))
    return since if math.isfinite(since) else -math.inf


laws: Registry[OrderingLaw[Any]] = Registry("schedulers.ordering", "ordering law")

C = TypeVar("C", bound=type[Any])


def ordering_law(cls: C) -> C:
    """Register a law."""
    laws.add(cls.name, cls)
    return cls


def choose(law: OrderingLaw[Any], state: Any, queue: Sequence[Waiting], now: float) -> Choice:
    """Who is next, and who can be dropped, of a queue in any order."""
    drop = tuple(i for i, one in enumerate(queue) if law.hopeless(one, now))
    gone = set(drop)
    ranks = [(law.rank(state, one, now), i) for i, one in enumerate(queue) if i not in gone]
    if not ranks:
        return Choice(index=None, drop=drop, reason=Reason.HOPELESS)
    return Choice(index=min(ranks)[1], drop=drop)


def decided(law: Law, queue: Sequence[Waiting], choice: Choice, now: float) -> Decision:
    """A choice as a line of the controller trace: its place by arrival, and its place now (1)."""
    if choice.index is None:
        before = after = 0.0
    else:
        serial = queue[choice.index].request.serial
        before = 1.0 + sum(one.request.serial < serial for one in queue)
        after = 1.0
    return Decision(
        at=now,
        point=DecisionPoint.ORDERING,
        law=law.name,
        before=before,
        after=after,
        reason=choice.reason,
        inputs={"waiting": float(len(queue)), "dropped": float(len(choice.drop))},
    )
