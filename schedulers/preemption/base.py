"""What a preemption law is: the KV cache is full; who gives way, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from documents.fields import parameter
from documents.registry import Registry
from schedulers.decision import Decision, DecisionPoint, Reason
from schedulers.law import Law
from schedulers.request import Request


class Mode(StrEnum):
    """How a victim's KV is given up."""

    RECOMPUTE = "recompute"
    SWAP = "swap"
    """Copied to the host's memory and back. vLLM V1 has none; the engine model has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A sequence that runs. ``output_tokens`` are those that it has said."""

    request: Request
    scheduled_at: float
    kv_tokens: int
    output_tokens: int = 0
    preemptions: int = 0

    def done(self) -> float:
        """The share of its expected output that it has said, 0 to 1."""
        return min(1.0, self.output_tokens / self.request.output())


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """``index`` stands in the sequence that was given."""

    index: int
    mode: Mode
    reason: Reason
    inputs: Mapping[str, float | None] = field(default_factory=dict)


class PreemptionLaw(Law, Protocol):
    """A pure function: all that it needs stands in what runs."""

    def choose(self, running: Sequence[Running], now: float) -> Victim:
        """Who gives way. There is always one: ValueError only where nobody runs."""
        ...


laws: Registry[PreemptionLaw] = Registry("schedulers.preemption", "preemption law")

C = TypeVar("C", bound=type[Any])


def preemption_law(cls: C) -> C:
    """Register a law."""
    laws.add(cls.name, cls)
    return cls


Key = Callable[[Running], float]
"""What a victim is chosen by; the largest goes."""
_SCHEDULED: Key = attrgetter("scheduled_at")

MODES = ("auto", "recompute", "swap")


@dataclass(frozen=True, slots=True)
class Costs:
    """Parameters that all preemption laws share: how KV is given up, and who is spared.

    Recompute costs kv / prefill_rate seconds; swap 2 × kv × kv_bytes / bandwidth + fixed_ms: which
    is cheaper depends on the context's length, so ``auto`` compares. A sequence past ``immunity``
    of its expected output, or preempted ``max_preemptions`` times, is spared while anyone else is
    left; where all are, immunity is lifted, for someone must go.
    """

    mode: str = parameter(default="auto", choices=MODES, help="How KV is given up.")
    immunity: float = parameter(
        default=0.8,
        minimum=0.0,
        maximum=1.0,
        help="Share of its expected output from which a sequence is spared; 1: never.",
    )
    max_preemptions: int = parameter(
        default=3,
        minimum=1,
        maximum=1000,
        unit="preemptions",
        help="How often one sequence gives way before it is spared.",
    )
    prefill_rate: float = parameter(
        default=8000.0, minimum=1.0, maximum=1e7, unit="tokens/s", help="How fast KV is recomputed."
    )
    kv_bytes: float = parameter(
        default=131_072.0, minimum=1.0, maximum=1e8, unit="bytes/token", help="KV of one token."
    )
    bandwidth_gb_s: float = parameter(
        default=25.0, minimum=0.01, maximum=10_000.0, unit="GB/s", help="To the host's memory."
    )
    fixed_ms: float = parameter(
        default=5.0, minimum=0.0, maximum=10_000.0, unit="ms", help="What a swap costs besides."
    )

    def spared(self, one: Running) -> bool:
        """Immune while anyone else is left."""
        return one.preemptions >= self.max_preemptions or (
            self.immunity < 1.0 and one.output_tokens > 0 and one.done() >= self.immunity
        )

    def how(self, one: Running) -> Mode:
        """The cheaper way, or the one that the policy names."""
        if self.mode != "auto":
            return Mode(self.mode)
        recompute = one.kv_tokens / self.prefill_rate
        swap = 2.0 * one.kv_tokens * self.kv_bytes / (self.bandwidth_gb_s * 1e9)
        return Mode.SWAP if swap + self.fixed_ms / 1e3 < recompute else Mode.RECOMPUTE

    def victim(self, running: Sequence[Running], reason: Reason, *keys: Key) -> Victim:
        """The largest key among those not spared; ties go to the next key, in the end to who was
        scheduled last."""
        if not running:
            raise ValueError("nobody runs, so nobody can give way")
        keys = (*keys, _SCHEDULED)
        index, passed = _largest(running, keys), 0
        if self.spared(running[index]):

            def rank(place: int) -> tuple[float, ...]:
                return (*(key(running[place]) for key in keys), place)

            for place in sorted(range(len(running)), key=rank, reverse=True):
                if not self.spared(running[place]):
                    index = place
                    break
                passed += 1
        return Victim(
            index=index,
            mode=self.how(running[index]),
            reason=Reason.ALL_IMMUNE if passed == len(running) else reason,
            inputs={"kv_tokens": float(running[index].kv_tokens), "spared": float(passed)},
        )


def _largest(running: Sequence[Running], keys: Sequence[Key]) -> int:
    """Where the largest stands, the last of equals: a further key is asked of equals alone."""
    found: Sequence[int] = range(len(running))
    for key in keys:
        values = (
            [key(running[i]) for i in found]
            if len(found) < len(running)
            else list(map(key, running))
        )
        most = max(values)
        if values.count(most) == 1:
            return found[values.index(most)]
        found = [i for i, value in zip(found, values, strict=True) if value == most]
    return found[-1]


def decided(law: Law, running: Sequence[Running], victim: Victim, now: float) -> Decision:
    """A choice as a line of the controller trace: KV tokens held before and after."""
    held = float(sum(one.kv_tokens for one in running))
    return Decision(
        at=now,
        point=DecisionPoint.PREEMPTION,
        law=law.name,
        before=held,
        after=held - running[victim.index].kv_tokens,
        reason=victim.reason,
        inputs={"swap": float(victim.mode is Mode.SWAP), **victim.inputs},
    )
