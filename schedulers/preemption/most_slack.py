"""Whoever can best afford to wait gives way: the recommended preemption law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.preemption.base import Costs, Key, Running, Victim, preemption_law


@preemption_law
@dataclass(frozen=True, slots=True)
class MostSlack(Costs):
    """slack = due − now − (what is left to say + what must be computed again), in seconds.

    Due: its first token's deadline while that is out; from then on first token + ``tpot_ms`` for
    each token of its expected output. Without a deadline its tier's patience stands for one. Each
    preemption that it has suffered takes ``ageing_s`` off, so that nobody pays for ever.
    """

    name: ClassVar[str] = "most_slack"
    summary: ClassVar[str] = (
        "The sequence with the most time to spare gives way, counting what it would lose; each "
        "preemption makes it less likely to be chosen again."
    )
    standing: ClassVar[Standing] = Standing.RECOMMENDED
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Slack is as good as the expected output: where lengths are unknown it falls back to "
            "tiers and arrival."
        ),
    )

    tpot_ms: float = parameter(
        default=100.0, minimum=1.0, maximum=10_000.0, unit="ms", help="Time per token that is due."
    )
    vip_patience_s: float = parameter(
        default=10.0, minimum=0.1, maximum=86_400.0, unit="s", help="Vip without a deadline."
    )
    normal_patience_s: float = parameter(
        default=60.0, minimum=0.1, maximum=86_400.0, unit="s", help="Normal without a deadline."
    )
    batch_patience_s: float = parameter(
        default=600.0, minimum=0.1, maximum=86_400.0, unit="s", help="Batch without a deadline."
    )
    ageing_s: float = parameter(
        default=30.0, minimum=0.0, maximum=3600.0, unit="s", help="What each preemption takes off."
    )

    def choose(self, running: Sequence[Running], now: float) -> Victim:
        return self.victim(running, Reason.MOST_SLACK, self.slack(now))

    def slack(self, now: float) -> Key:
        """Seconds that each can lose.

        What is due for the tokens that it has yet to say is what it needs to say them, so only
        those that it has said count: due − left = first + tokens said × ``tpot_ms``.
        """
        patience = (self.vip_patience_s, self.normal_patience_s, self.batch_patience_s)
        tpot, rate, ageing = self.tpot_ms / 1e3, self.prefill_rate, self.ageing_s

        def of(one: Running) -> float:
            request = one.request
            first = request.deadline_at
            if first is None:
                first = request.arrived_at + patience[request.band]
            said, expected = one.output_tokens, request.output()
            due = first + min(said, expected) * tpot
            return due - now - one.kv_tokens / rate - ageing * one.preemptions

        return of
