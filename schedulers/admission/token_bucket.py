"""A bucket of weighted tokens for each tenant: reserved when taken, settled when over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from documents.fields import parameter
from schedulers.admission.base import (
    Action,
    Answer,
    Ended,
    Reservation,
    Unmoved,
    admission_law,
    hold,
    shed,
)
from schedulers.bucket import Bucket
from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.request import Request
from schedulers.signals import Signals

ESTIMATES = ("mean", "max_tokens")


@dataclass(frozen=True, slots=True)
class TenantBuckets:
    """``outputs``: each tenant's learned mean of output tokens."""

    buckets: Mapping[str, Bucket] = field(default_factory=dict)
    outputs: Mapping[str, float] = field(default_factory=dict)


@admission_law
@dataclass(frozen=True, slots=True)
class TokenBucket(Unmoved):
    """cost = prompt + output_weight × output, in tokens; rate and burst times the tenant's weight.

    Charging after the fact lets every concurrent request through first (envoyproxy/ai-gateway
    #2394, BerriAI/litellm#5783), so the estimate is reserved at once; what was not used comes back
    when the request ends (all of it where the engine refused), and what was used beyond it is owed.
    A cost above the burst needs a full bucket and leaves a debt: it is served, never skipped for
    ever.
    """

    name: ClassVar[str] = "token_bucket"
    summary: ClassVar[str] = (
        "Each tenant has a bucket of weighted tokens that fills at a rate: reserved on admission, "
        "settled to what was used."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Knows the tenants' budgets and nothing of the engine: budgets that sum to more than "
            "it can do still overload it, and an idle engine is no reason to exceed one."
        ),
    )

    rate: float = parameter(
        default=2000.0,
        minimum=0.0,
        exclusive_minimum=True,
        maximum=1e9,
        unit="weighted tokens/s",
        help="What a tenant of weight 1 may spend for ever.",
    )
    burst: float = parameter(
        default=60_000.0,
        minimum=1.0,
        maximum=1e10,
        unit="weighted tokens",
        help="What a tenant of weight 1 may save up; at first it is there.",
    )
    output_weight: float = parameter(
        default=2.0,
        minimum=0.0,
        maximum=100.0,
        help="What an output token costs, in prompt tokens.",
    )
    estimate: str = parameter(
        default="mean",
        choices=ESTIMATES,
        help="The output that is reserved: the tenant's learned mean, or all that was asked for.",
    )
    max_wait_s: float = parameter(
        default=10.0,
        minimum=0.0,
        maximum=86_400.0,
        unit="s",
        help="What must wait longer for its tokens is shed at once; 0: nothing waits.",
    )

    def start(self) -> TenantBuckets:
        return TenantBuckets()

    def offer(
        self,
        state: TenantBuckets,
        request: Request,
        seen: Signals | None,
        now: float,
    ) -> tuple[TenantBuckets, Answer]:
        rate, burst = self.rate * request.weight, self.burst * request.weight
        bucket = state.buckets.get(request.tenant, Bucket(burst)).refilled(now, rate, burst)
        cost = self._cost(request.prompt_tokens, self._output(state, request))
        wait = bucket.wait(cost, rate, burst)
        if bucket.room(cost, burst):
            answer = Answer(
                action=Action.ADMIT,
                reason=Reason.ADMITTED,
                reservation=Reservation(cost),
                inputs={"cost": cost, "level": bucket.level},
            )
            bucket = bucket.take(cost)
        elif wait > self.max_wait_s:
            answer = shed(Reason.TENANT_BUDGET, wait, cost=cost, level=bucket.level)
        else:
            answer = hold(Reason.TENANT_BUDGET, now + wait, cost=cost, level=bucket.level)
        return TenantBuckets({**state.buckets, request.tenant: bucket}, state.outputs), answer

    def ended(self, state: TenantBuckets, over: Ended, now: float) -> TenantBuckets:
        request = over.request
        rate, burst = self.rate * request.weight, self.burst * request.weight
        bucket = state.buckets.get(request.tenant, Bucket(burst)).refilled(now, rate, burst)
        outputs = state.outputs
        used = 0.0 if over.kind is OutcomeKind.REJECTED else over.reservation.tokens
        if over.output_tokens is not None and over.output_tokens >= 0:
            prompt = request.prompt_tokens if over.prompt_tokens is None else over.prompt_tokens
            used = self._cost(max(0, prompt), over.output_tokens)
            mean = outputs.get(request.tenant, float(over.output_tokens))
            mean += 0.05 * (over.output_tokens - mean)
            outputs = {**outputs, request.tenant: mean}
        bucket = bucket.settle(over.reservation.tokens, used, burst)
        return TenantBuckets({**state.buckets, request.tenant: bucket}, outputs)

    def _output(self, state: TenantBuckets, request: Request) -> float:
        if self.estimate == "max_tokens" and request.max_tokens is not None:
            return float(request.max_tokens)
        return request.output(state.outputs.get(request.tenant))

    def _cost(self, prompt: float, output: float) -> float:
        return prompt + self.output_weight * output
