"""What an ordering law is: a rank for each request that waits; the lowest goes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from documents.registry import Registry
from schedulers.decision import Decision, DecisionPoint, Reason
from schedulers.law import Law
from schedulers.request import Request

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """``index`` is the next in the queue, None where nobody is left; ``drop``: the hopeless."""

    index: int | None
    drop: tuple[int, ...] = ()
    reason: Reason = Reason.IN_TURN


S = TypeVar("S")


class OrderingLaw(Law, Protocol[S]):
    """Pure functions over a frozen, JSON-able state that the host keeps.

    Where ``moves`` is False, ranks of those that wait change only with the state, so a host may
    keep them in a heap.
    """

    moves: ClassVar[bool]
    """Whether ranks change as time passes."""
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

    def hopeless(self, one: Waiting, now: float) -> bool:
        """It can't meet its deadline any more, and the policy drops such."""
        ...

    def left(self, state: S, one: Waiting, others: Backlog, now: float) -> S:
        """It has been chosen and sent; ``others`` still wait."""
        ...

    def ended(self, state: S, one: Waiting, output_tokens: int | None, now: float) -> S:
        """It is over with so many output tokens; None where that is not known."""
        ...


class Memoryless:
    """For laws that rank by what a request is."""

    __slots__ = ()
    moves: ClassVar[bool] = False
    fifo_within_tenant: ClassVar[bool] = False

    def start(self) -> None:
        return None

    def arrived(self, state: Any, one: Waiting, others: Backlog, now: float) -> Any:
        return state

    def hopeless(self, one: Waiting, now: float) -> bool:
        return False

    def left(self, state: Any, one: Waiting, others: Backlog, now: float) -> Any:
        return state

    def ended(self, state: Any, one: Waiting, output_tokens: int | None, now: float) -> Any:
        return state


def too_late(one: Waiting, now: float, margin_s: float = 0.0) -> bool:
    """Its deadline lies before the end of its own service, were it to begin now."""
    request = one.request
    if request.deadline_at is None or request.service_s is None:
        return request.deadline_at is not None and now > request.deadline_at
    return now + request.service_s + margin_s > request.deadline_at


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
