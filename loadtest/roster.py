"""What a policy may know of the requests that are not over: never how long an answer will be.

A load test asks for exactly as many tokens as the schedule says, so that is their ``max_tokens``.
Their first token is due when the SLO says; what they take until then is foretold by the model of
the engine, and where there is none by those that came before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loadtest.scenario import Tenant
from loadtest.schedule import Job
from measurement.slo import Slo
from schedulers.request import Request
from schedulers.runtime.first_tokens import FirstTokens, faded
from schedulers.runtime.leaving import Leaving
from simulator.core.config import EngineConfig

_UNKNOWN = Tenant()
_MEMORY = 50
"""First tokens that count for what an engine under load adds to the model's own estimate."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a policy knows beforehand: of the tenants, the objectives, and the engine's pace."""

    tenants: Mapping[str, Tenant]
    slo: Slo | None
    prefill_rate: float | None = None
    """Prompt tokens a second; None: not known, as of a real engine."""
    ingest_s: float = 0.0

    @classmethod
    def of(cls, tenants: Mapping[str, Tenant], slo: Slo | None, config: EngineConfig) -> Known:
        """The pace is that of a step full of prompt tokens."""
        full = config.token_budget
        rate = full / config.cost.seconds(full, 0, 1, 0.0)
        return cls(tenants, slo, rate, config.ingest_s)


class Roster:
    """By the index of the schedule."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._requests: dict[int, Request] = {}
        self._serial = 0
        self._sending = Leaving()
        self._excess_s, self._heard, self._heard_at = 0.0, 0, 0.0
        self._learned = FirstTokens()

    def sent(self, now: float) -> None:
        """One goes to the engine."""
        self._sending.left(now)

    def rate(self, now: float) -> float | None:
        """Requests a second that went to the engine of late; None: too few to tell."""
        return self._sending.rate(now)

    @property
    def prefill_rate(self) -> float | None:
        """Prompt tokens a second that the engine is known to compute."""
        return self._known.prefill_rate

    def __getitem__(self, index: int) -> Request:
        return self._requests[index]

    def enter(self, job: Job, now: float, attempt: int = 1) -> Request:
        """It is offered, or comes again."""
        known, shape = self._known, job.shape
        tenant = known.tenants.get(shape.tenant, _UNKNOWN)
        due = self._due_at(job)
        self._serial += 1
        request = self._requests[job.index] = Request(
            serial=self._serial,
            arrived_at=now,
            tenant=shape.tenant,
            tier=tenant.tier,
            weight=tenant.weight,
            prompt_tokens=shape.prompt_tokens,
            max_tokens=shape.output_tokens,
            service_s=None if due is None else self._service_s(job, now),
            deadline_at=due,
            attempt=attempt,
        )
        return request

    def leave(self, job: Job, service_ttft: float | None, now: float) -> None:
        """It is over; so long after its sending it had its first token, or it never had."""
        del self._requests[job.index]
        if service_ttft is None:
            return
        rate = self._known.prefill_rate
        if rate is None:
            self._learned.heard(job.shape.prompt_tokens, service_ttft, now)
            return
        self._heard = min(_MEMORY, self._heard + 1)
        new, known = service_ttft - self._alone_s(job, rate), self._excess(now)
        self._excess_s, self._heard_at = known + (new - known) / self._heard, now

    def _service_s(self, job: Job, now: float) -> float | None:
        """Seconds to the first token, as far as they can be foretold."""
        rate = self._known.prefill_rate
        if rate is None:
            return self._learned.foretold(job.shape.prompt_tokens, now)
        return self._alone_s(job, rate) + self._excess(now)

    def _excess(self, now: float) -> float:
        """What an engine under load adds, as long as first tokens come."""
        return faded(self._excess_s, now - self._heard_at)

    def _alone_s(self, job: Job, rate: float) -> float:
        """Seconds to the first token in an engine that has nothing else to do."""
        return self._known.ingest_s + job.shape.prompt_tokens / rate

    def _due_at(self, job: Job) -> float | None:
        """When its first token is due; None without such an objective."""
        slo, shape = self._known.slo, job.shape
        if slo is None:
            return None
        most = slo.maximum("ttft_ms", tenant=shape.tenant, prompt_tokens=shape.prompt_tokens)
        return None if most is None else job.intended_at + most / 1e3
