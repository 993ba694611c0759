"""The tenants plant: three tiers of tenants before one KV-limited engine, a burst of 4.3 times.

A fluid engine in steps of 20 ms: decoding takes 18 + 0.25 n ms a step, prefill 16,000 tokens/s
(60 % of a step while others decode); when the KV cache is full, whoever began last is thrown out
and computed again. Requests come through a waiting room with an admission and an ordering law.
Whoever is sent away comes back as full jitter says, up to six times; who waited past its tier's
time has given up.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from schedulers.admission.base import AdmissionLaw, Ended
from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Reason
from schedulers.ordering.base import OrderingLaw, Waiting
from schedulers.request import Request
from schedulers.retry.base import Failure, RetryLaw
from schedulers.runtime.caps import Caps
from schedulers.runtime.waiting_room import Admitted, Sent, WaitingRoom
from schedulers.signals import Signals

STEP_S, POLL_S = 0.02, 0.05
KV_TOKENS, MAX_RUNNING = 300_000, 128
PREFILL_RATE, PREFILL_SHARE = 16_000.0, 0.6
BASE_S, PER_SEQUENCE_S = 0.018, 0.00025
BURST = (60.0, 180.0)
ARRIVALS_END_S, END_S = 300.0, 800.0


@dataclass(frozen=True, slots=True)
class Kind:
    """What a tier asks for: medians and spreads of prompt and output, its share of the engine at
    rest, by how much the burst multiplies it, its tenants, its cap on output."""

    prompt: float
    prompt_sigma: float
    output: float
    output_sigma: float
    rest: float
    burst: float
    tenants: tuple[str, ...]
    most: int


KINDS = {
    "vip": Kind(600, 0.5, 200, 0.5, 0.15, 1.5, ("v1", "v2"), 1024),
    "normal": Kind(1500, 0.6, 400, 0.6, 0.45, 2.0, ("n1", "n2", "n3", "hog"), 2048),
    "batch": Kind(4000, 0.5, 800, 0.5, 0.20, 14.0, ("b1", "b2"), 4096),
}
HOG_BURST = 8.0


@dataclass(slots=True, eq=False)
class Job:
    """One request in the engine, or on its way to it."""

    request: Request
    prompt: int
    output: int
    offered_at: float
    attempts: int = 0
    went: Admitted | None = None
    kv: float = 0.0
    prefill: float = 0.0
    said: float = 0.0
    ttft: float | None = None
    ended_at: float | None = None


@dataclass(slots=True)
class Seen:
    """What a run showed."""

    jobs: list[Job] = field(default_factory=list)
    kv_most: float = 0.0
    kv_at: list[float] = field(default_factory=list)
    """Share of the KV cache in use, at the end of every ``STEP_S``."""
    preemptions: int = 0
    sent_away: int = 0
    untold: int = 0
    """Sent away without a time to come back."""
    late_waits: int = 0
    """Waited longer than their tier may."""
    service: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Weighted tokens by tenant during the burst."""


class TenantsRun:
    """One run of a gateway's laws before the engine."""

    def __init__(
        self,
        laws: tuple[AdmissionLaw[Any], OrderingLaw[Any]],
        retry: RetryLaw[Any],
        caps: Caps,
        seed: int,
        *,
        bursting: bool = True,
    ) -> None:
        self._rng = np.random.default_rng([seed, 11])
        self._room = WaitingRoom(*laws, caps, self._rng.random)
        self._retry = retry
        self._caps = caps
        self._jobs: dict[int, Job] = {}
        self._serial = 0
        self._inbox: list[tuple[float, int, Job]] = []
        self._engine_queue: deque[Job] = deque()
        self._running: list[Job] = []
        self._kv = 0.0
        self._signals = self._read(0.0)
        self._changed = True
        self.seen = Seen()
        for at, tier, tenant in _arrivals(self._rng, bursting=bursting):
            self._create(at, tier, tenant)

    def go(self, end_s: float = END_S) -> Seen:
        """Play it to the end, or until then."""
        now = 0.0
        while now < end_s:
            self._arrive(now)
            if now - self._signals.read_at >= POLL_S - 1e-9:
                self._signals = self._read(now)
            if self._changed or now >= self._room.wake_at():
                self._pump(now)
            self._engine(now)
            now += STEP_S
        return self.seen

    def _create(self, at: float, tier: str, tenant: str) -> None:
        kind, draw = KINDS[tier], self._rng.lognormal
        prompt = int(min(16_000, max(16, draw(math.log(kind.prompt), kind.prompt_sigma))))
        output = int(min(kind.most, max(8, draw(math.log(kind.output), kind.output_sigma))))
        request = Request(
            serial=0, arrived_at=at, tier=tier, tenant=tenant, prompt_tokens=prompt,
            max_tokens=kind.most,
        )  # fmt: skip
        job = Job(request, prompt, output, at)
        self.seen.jobs.append(job)
        heapq.heappush(self._inbox, (at, len(self.seen.jobs), job))

    def _arrive(self, now: float) -> None:
        while self._inbox and self._inbox[0][0] <= now:
            _, _, job = heapq.heappop(self._inbox)
            self._serial += 1
            job.attempts += 1
            facts = {name: getattr(job.request, name) for name in ("tier", "tenant", "max_tokens")}
            job.request = Request(
                serial=self._serial, arrived_at=now, prompt_tokens=job.prompt, **facts
            )
            self._jobs[self._serial] = job
            self._changed = True
            for sent in self._room.join(Waiting(request=job.request), now):
                self._send_away(sent, now)

    def _pump(self, now: float) -> None:
        for sent in self._room.expired(now):
            self._send_away(sent, now)
        while (what := self._room.next(self._signals, now)) is not None:
            if isinstance(what, Sent):
                self._send_away(what, now)
                continue
            job = self._jobs[what.request.serial]
            job.went = what
            waited = now - job.request.arrived_at
            self.seen.late_waits += waited > self._caps.ttl_s(job.request.band) + STEP_S
            self._engine_queue.append(job)
        self._changed = False

    def _send_away(self, sent: Sent, now: float) -> None:
        """429: its client holds the retry law's rules, with a budget of its own."""
        job = self._jobs.pop(sent.request.serial)
        self.seen.sent_away += 1
        self.seen.untold += not sent.retry_after_s > 0.0
        if sent.reason is Reason.EXPIRED:
            return  # it has waited as long as it has patience for
        failure = Failure(
            kind=OutcomeKind.REJECTED, attempts=job.attempts, retry_after=sent.retry_after_s
        )
        law = self._retry
        _, verdict = law.failed(law.start(), failure, float(self._rng.random()), now)
        if verdict.wait_s is not None:
            heapq.heappush(
                self._inbox, (now + verdict.wait_s, self._serial * 10 + job.attempts, job)
            )

    def _read(self, now: float) -> Signals:
        return Signals(
            read_at=now,
            poll_s=POLL_S,
            running=len(self._running),
            waiting=len(self._engine_queue),
            kv_used=self._kv / KV_TOKENS,
            kv_tokens=KV_TOKENS,
            max_running=MAX_RUNNING,
            prefill_rate=PREFILL_RATE,
        )

    def _engine(self, now: float) -> None:
        queue = self._engine_queue
        while queue and len(self._running) < MAX_RUNNING:
            needed = queue[0].prompt + queue[0].said
            if self._kv + needed > 0.99 * KV_TOKENS:
                break
            job = queue.popleft()
            job.prefill = job.kv = needed
            self._kv += needed
            self._running.append(job)
        share = self._prefill()
        self._decode(1.0 - share, now)
        while self._kv > KV_TOKENS and self._running:
            self._throw_out(self._running.pop())
        self.seen.kv_at.append(self._kv / KV_TOKENS)
        self.seen.kv_most = max(self.seen.kv_most, self.seen.kv_at[-1])

    def _prefill(self) -> float:
        waiting = [job for job in self._running if job.prefill > 0.0]
        if not waiting:
            return 0.0
        full = PREFILL_RATE * STEP_S
        budget = left = full * (PREFILL_SHARE if len(waiting) < len(self._running) else 1.0)
        for job in waiting:
            done = min(job.prefill, left)
            job.prefill -= done
            left -= done
            if left <= 0.0:
                break
        return (budget - left) / full

    def _decode(self, share: float, now: float) -> None:
        decoding = [job for job in self._running if job.prefill <= 0.0]
        if not decoding:
            return
        each = share * STEP_S / (BASE_S + PER_SEQUENCE_S * len(decoding))
        burst = BURST[0] <= now < BURST[1]
        over = []
        for job in decoding:
            job.said += each
            job.kv += each
            if job.ttft is None:
                job.ttft = now - job.offered_at
                self._first_token(job, now)
            if burst:
                self.seen.service[job.request.tenant] += 2 * each
            if job.said >= job.output:
                over.append(job)
        self._kv += each * len(decoding)
        for job in over:
            self._finish(job, now)

    def _first_token(self, job: Job, now: float) -> None:
        if BURST[0] <= now < BURST[1]:
            self.seen.service[job.request.tenant] += job.prompt
        if job.went is not None:
            self._room.prefilled(job.went, now)
            self._changed = True

    def _finish(self, job: Job, now: float) -> None:
        self._running.remove(job)
        self._kv -= job.kv
        job.ended_at = now
        if job.went is not None:
            over = Ended(
                request=job.request,
                reservation=job.went.reservation,
                admitted_at=job.went.at,
                output_tokens=job.output,
            )
            self._room.ended(job.went, over, now)
        self._changed = True

    def _throw_out(self, job: Job) -> None:
        self._kv -= job.kv
        job.kv = 0.0
        self.seen.preemptions += 1
        self._engine_queue.appendleft(job)


def _work(kind: Kind) -> float:
    """Engine seconds of a mean request, with 80 decoding."""
    output = kind.output * math.exp(kind.output_sigma**2 / 2)
    prompt = kind.prompt * math.exp(kind.prompt_sigma**2 / 2)
    return output * (BASE_S + PER_SEQUENCE_S * 80) / 80 + prompt / PREFILL_RATE


def _arrivals(rng: np.random.Generator, *, bursting: bool) -> list[tuple[float, str, str]]:
    """Poisson by tenant; 80 % of the engine at rest, about 4.3 times it in the burst."""
    found = []
    for tier, kind in KINDS.items():
        rate = kind.rest / _work(kind) / len(kind.tenants)
        for tenant in kind.tenants:
            at = 0.0
            while True:
                factor = HOG_BURST if tenant == "hog" else kind.burst
                burst = bursting and BURST[0] <= at < BURST[1]
                at += float(rng.exponential(1.0 / (rate * (factor if burst else 1.0))))
                if at > ARRIVALS_END_S:
                    break
                found.append((at, tier, tenant))
    return sorted(found)
