"""A lane: a bounded queue before equal engines, held to the concurrency of one policy at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from documents.parse import build
from gateway.config_parts import LaneConfig, QueueRules
from gateway.drain import Drain
from gateway.engine import Engine, Means
from gateway.errors import Refusal
from gateway.lane_limiter import LaneLimiter
from gateway.lane_shadow import LaneShadow
from gateway.promises import Promises
from schedulers.concurrency.base import LIMIT_CEILING, ConcurrencyLaw, OutcomeKind, laws
from schedulers.decision import Decision
from schedulers.document import Policy
from schedulers.runtime.limiter import Permit

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


class Lane:
    """Enter, then leave with the same permit; a refusal says why and when to come back."""

    def __init__(self, config: LaneConfig, policy: Policy, rules: QueueRules, means: Means) -> None:
        self.name = config.name
        self.rules = rules
        self._means = means
        self._clock = means.clock
        self.engines = [Engine(endpoint, means) for endpoint in config.endpoints]
        self.decisions: deque[Decision] = deque(maxlen=KEPT_DECISIONS)
        self.shadow = LaneShadow(means.clock)
        self.policy = policy
        self.limiter = LaneLimiter(
            policy.sha256,
            _law(policy),
            means.clock,
            on_decision=self.decisions.append,
            observers=(self.shadow,),
        )
        self._drain = Drain()
        self._promises = Promises(means.rng)

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self.limiter.waiting

    @property
    def load(self) -> float:
        """How full it is: 1 when every slot is taken and nobody waits."""
        return (self.limiter.in_flight + self.limiter.waiting) / max(1, self.limiter.limit)

    @property
    def pressure(self) -> str:
        """Green while nobody waits, red from half of the queue's bound on."""
        if not self.waiting:
            return "green"
        return "red" if 2 * self.waiting >= self.rules.bound else "yellow"

    async def enter(self, tenant: str) -> Permit:
        """A permit in turn, or a Refusal. Cancelled at any point, it leaves nothing behind."""
        if not any(engine.up for engine in self.engines):
            raise self.unreachable()
        now = self._clock()
        promised = self._promises.redeem(now, tenant)
        permit = self.limiter.try_acquire()
        if permit is not None:
            return permit
        kept = 0 if promised else self._promises.outstanding(now)
        if self.rules.bound - self.waiting <= kept:
            message = f"The queue is full: {self.waiting} requests wait."
            raise self._contended("queue_full", message, tenant)
        return await self._queue(tenant)

    async def _queue(self, tenant: str) -> Permit:
        self._drain.waiting(self._clock(), self.waiting + 1)
        try:
            async with asyncio.timeout(self.rules.ttl_s):
                return await self.limiter.acquire()
        except TimeoutError:
            message = f"No slot came free within {self.rules.ttl_s:g} s."
            raise self._contended("queue_timeout", message, tenant) from None
        finally:
            self._drain.waiting(self._clock(), self.waiting)

    def leave(self, permit: Permit, leaving: Leaving) -> None:
        """Give the permit back; the law learns, and the next in turn goes."""
        now = self._clock()
        self._drain.departed(now, max(0.0, now - permit.granted_at))
        self.limiter.release(
            permit,
            outcome_kind=leaving.kind,
            latency=leaving.latency,
            ttft=leaving.ttft,
            prompt_tokens=leaving.prompt_tokens,
            output_tokens=leaving.output_tokens,
            retry_after=leaving.retry_after,
        )
        self._drain.waiting(now, self.waiting)

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
        self.limiter.adopt(policy.sha256, _law(policy))

    def shade(self, policy: Policy | None) -> None:
        """Let this version decide beside the serving one, or none."""
        self.shadow.run(policy, None if policy is None else _law(policy))

    def configure(self, config: LaneConfig, rules: QueueRules) -> None:
        """Another list of engines, another bound; engines that stay keep their connections."""
        self.rules = rules
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
