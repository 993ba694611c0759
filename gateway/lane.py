"""A lane: a bounded queue before equal engines, held to one policy at a time."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from documents.parse import build
from gateway.asked import Lengths
from gateway.config_parts import LaneConfig, QueueRules
from gateway.drain import Drain
from gateway.engine import Engine, Means
from gateway.errors import Refusal
from gateway.lane_limiter import LaneLimiter
from gateway.lane_shadow import LaneShadow
from gateway.promises import Promises
from gateway.ranking import Kept, caps_of, refusal_of
from gateway.waits import Waits
from schedulers.concurrency.base import LIMIT_CEILING, ConcurrencyLaw, OutcomeKind, laws
from schedulers.decision import Decision, DecisionPoint
from schedulers.document import Policy
from schedulers.request import Request
from schedulers.retry.base import RetryLaw
from schedulers.retry.base import laws as retry_laws
from schedulers.runtime.admission import QUEUED, AdmissionQueue, Laws, Shed, Ticket
from schedulers.runtime.deciding import Deciding
from schedulers.runtime.limiter import Permit
from schedulers.runtime.retrying import Retrier
from schedulers.signals import Signals

Turn = Permit | Ticket
"""The right to one request in flight."""

KEPT_DECISIONS = 2000
NO_ENDPOINT_RETRY = 1.0


@dataclass(frozen=True, slots=True)
class Leaving:
    """What a finished request says about load."""

    kind: OutcomeKind
    latency: float | None = None
    ttft: float | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    retry_after: float | None = None
    late: bool | None = None


class Lane:
    """Enter, then leave with the same turn; a refusal says why and when to come back.

    A policy without a law for admission or ordering has a queue that is first come, first served
    and keeps its promises; with one, requests wait in a room that the laws rank.
    """

    def __init__(self, config: LaneConfig, policy: Policy, rules: QueueRules, means: Means) -> None:
        self.name = config.name
        self.rules = rules
        self._means = means
        self._clock = means.clock
        self.engines = [Engine(endpoint, means) for endpoint in config.endpoints]
        self.decisions: deque[Decision] = deque(maxlen=KEPT_DECISIONS)
        self.shadow = LaneShadow(means.clock)
        self.policy = policy
        self._ranks = bool(policy.laws.keys() & QUEUED)
        self.limiter = LaneLimiter(
            policy.sha256,
            _law(policy),
            means.clock,
            on_decision=self.decisions.append,
            observers=(self.shadow,),
        )
        self.lengths = Lengths()
        self.read: Callable[[], Signals | None] = lambda: None
        """The engines' last reading, for laws that ask."""
        self._said = Deciding(means.clock, Kept(self.decisions.append), math.inf)
        self._queue = AdmissionQueue(
            Laws.of(policy),
            self.limiter,
            clock=means.clock,
            draw=means.rng.random,
            caps=caps_of(rules),
            signals=self._signals,
            said=self._said,
        )
        self._retrier = Retrier(
            _retry(policy),
            sleep=asyncio.sleep,
            clock=means.clock,
            draw=means.rng.random,
            on_decision=self._said.tell,
            version=policy.sha256,
        )
        self._drain = Drain()
        self._promises = Promises(means.rng)
        self.waits = Waits()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self.limiter.waiting + self._queue.waiting

    @property
    def ranks(self) -> bool:
        """Whether laws say who is taken and who is next, or some still wait whom they ranked."""
        return self._ranks or self._queue.waiting > 0

    @property
    def reads(self) -> bool:
        """Whether a law asks what the engines say of themselves."""
        return DecisionPoint.ADMISSION in self.policy.laws

    @property
    def retrier(self) -> Retrier | None:
        """What says whether a failed request goes to an engine again; None: nothing does."""
        return self._retrier if DecisionPoint.RETRY in self.policy.laws else None

    @property
    def deciding_seconds(self) -> float:
        """What deciding has cost."""
        return self.limiter.deciding_seconds + self._said.seconds

    @property
    def load(self) -> float:
        """How full it is: 1 when every slot is taken and nobody waits."""
        return (self.limiter.in_flight + self.waiting) / max(1, self.limiter.limit)

    @property
    def pressure(self) -> str:
        """Green while nobody waits, red from half of the queue's bound on."""
        if not self.waiting:
            return "green"
        return "red" if 2 * self.waiting >= self.rules.bound else "yellow"

    async def enter(self, tenant: str, request: Request | None = None) -> Turn:
        """A turn, or a Refusal. Cancelled at any point, it leaves nothing behind.

        ``request`` is what laws may know of it, for a lane that ranks.
        """
        if not any(engine.up for engine in self.engines):
            raise self.unreachable()
        if self.ranks:
            return await self._ranked(tenant, request)
        now = self._clock()
        promised = self._promises.redeem(now, tenant)
        permit = self.limiter.try_acquire()
        if permit is not None:
            return permit
        kept = 0 if promised else self._promises.outstanding(now)
        if self.rules.bound - self.waiting <= kept:
            message = f"The queue is full: {self.waiting} requests wait."
            raise self._contended("queue_full", message, tenant)
        return await self._wait(tenant)

    async def _ranked(self, tenant: str, request: Request | None) -> Ticket:
        known = request or Request(serial=0, arrived_at=self._clock(), tenant=tenant)
        try:
            return await self._queue.acquire(known, kv_tokens=known.prompt_tokens)
        except Shed as shed:
            raise refusal_of(shed) from None

    async def _wait(self, tenant: str) -> Permit:
        self._drain.waiting(self._clock(), self.waiting + 1)
        try:
            async with asyncio.timeout(self.rules.ttl_s):
                return await self.limiter.acquire()
        except TimeoutError:
            message = f"No slot came free within {self.rules.ttl_s:g} s."
            raise self._contended("queue_timeout", message, tenant) from None
        finally:
            self._pump()  # a turn given back unused may be for those who wait in the room
            self._drain.waiting(self._clock(), self.waiting)

    def first_token(self, turn: Turn, ttft: float) -> None:
        """Its answer has begun."""
        if isinstance(turn, Ticket):
            self._queue.first_token(turn, ttft)
        else:
            self.limiter.first_token(turn, ttft)
            self._pump()

    def leave(self, turn: Turn, leaving: Leaving) -> None:
        """Give the turn back; the laws learn, and the next in turn goes."""
        now = self._clock()
        since = turn.admitted.at if isinstance(turn, Ticket) else turn.granted_at
        self._drain.departed(now, max(0.0, now - since))
        learned: dict[str, Any] = {
            "latency": leaving.latency,
            "ttft": leaving.ttft,
            "prompt_tokens": leaving.prompt_tokens,
            "output_tokens": leaving.output_tokens,
            "retry_after": leaving.retry_after,
        }
        if isinstance(turn, Ticket):
            self._queue.release(turn, outcome_kind=leaving.kind, late=leaving.late, **learned)
        else:
            self.limiter.release(turn, outcome_kind=leaving.kind, **learned)
            self._pump()
        self._drain.waiting(now, self.waiting)

    def _signals(self) -> Signals | None:
        return self.read()

    def _pump(self) -> None:
        if self._queue.waiting:
            self._queue.pump()

    def engine(self, *, but: frozenset[Engine] = frozenset()) -> Engine | None:
        """The reachable engine with the least to do."""
        able = [engine for engine in self.engines if engine.up and engine not in but]
        return min(able, key=lambda engine: engine.in_flight, default=None)

    def unreachable(self) -> Refusal:
        """What to say when no engine can be reached."""
        message = "No endpoint of this model can be reached."
        return Refusal(503, "no_endpoint", message, retry_after=NO_ENDPOINT_RETRY)

    def adopt(self, policy: Policy) -> None:
        """From now on this version decides; whoever waits or is in flight stays."""
        self.policy = policy
        self._ranks = bool(policy.laws.keys() & QUEUED)
        self.limiter.adopt(policy.sha256, _law(policy))
        self._queue.adopt(Laws.of(policy))
        self._retrier.adopt(policy.sha256, _retry(policy))

    def forget(self, *, but: frozenset[str]) -> None:
        """Drop the states of versions that no configuration names any more."""
        self.limiter.forget(but=but)
        self._queue.room.forget(but=but)
        self._retrier.forget(but=but)

    def shade(self, policy: Policy | None) -> None:
        """Let this version decide beside the serving one, or none."""
        self.shadow.run(policy, None if policy is None else _law(policy))

    def configure(self, config: LaneConfig, rules: QueueRules) -> None:
        """Another list of engines, another bound; engines that stay keep their connections."""
        self.rules = rules
        self._queue.room.caps = caps_of(rules)
        self._pump()
        known = {engine.config: engine for engine in self.engines}
        self.engines = [
            known.pop(endpoint) if endpoint in known else Engine(endpoint, self._means)
            for endpoint in config.endpoints
        ]
        for engine in known.values():
            engine.pool.retire()

    def _contended(self, code: str, message: str, tenant: str) -> Refusal:
        now = self._clock()
        rate, latency = self._drain.promise(now, self.limiter.limit)
        after = self._promises.refuse(now, tenant, rate=rate, latency=latency)
        return Refusal(429, code, message, retry_after=after)


def _law(policy: Policy) -> ConcurrencyLaw[object]:
    """The policy's concurrency law; one that leaves it open holds nobody back."""
    law = policy.law("concurrency")
    return law or build(laws.get("fixed"), {"limit": LIMIT_CEILING})


def _retry(policy: Policy) -> RetryLaw[object]:
    """A policy that leaves it open sends nothing again."""
    return policy.law("retry") or build(retry_laws.get("none"), {})
