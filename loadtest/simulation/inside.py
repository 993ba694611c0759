"""The laws that decide inside the engine, as the model's hooks: batching and preemption.

A batching law is asked before each step that could begin or go on with a prompt. A step of decodes
alone holds what it holds, so an answer that lets nobody begin stands until the queue or the batch
changes, and such steps stay folded; a stretch of them teaches a law that learns from steps once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loadtest.roster import Roster
from schedulers.batching import base as batching
from schedulers.decision import DecisionPoint
from schedulers.preemption import base as preemption
from schedulers.runtime.deciding import Deciding
from simulator.core.hooks import Ahead, Allowance, Load, Taken, View


class Batching:
    """One batching law, and what it has learned; ``rate``: requests a second that came of late."""

    def __init__(
        self,
        law: batching.BatchingLaw[Any],
        rate: Callable[[float], float | None],
        said: Deciding,
    ) -> None:
        self._law = law
        self._state = law.start()
        self._rate = rate
        self._said = said
        self._padded: dict[int, int] = {}

    @property
    def own_graphs(self) -> bool:
        """Whether the law says for how many a step of decodes alone computes."""
        return self._law.plan(self._state, batching.Load(decoding=1), 0.0).padded_to is not None

    def allow(self, load: Load, ahead: Ahead) -> Allowance:
        """What the next step may hold."""
        seen = batching.Load(
            decoding=load.decoding,
            prefilling=load.prefilling,
            prefill_tokens=ahead.prefill_tokens,
            waiting=load.waiting,
            waiting_tokens=ahead.waiting_tokens,
            context_tokens=load.context,
            oldest_wait=ahead.oldest_wait,
            arrival_rate=self._rate(load.now),
        )
        law, now = self._law, load.now
        plan = self._said.timed(lambda: law.plan(self._state, seen, now))
        self._said.tell_changes(
            DecisionPoint.BATCHING,
            plan.reason,
            now,
            lambda: batching.decided(law, seen, plan, now),
        )
        return Allowance(plan.token_budget, plan.max_sequences, plan.admit_waiting, plan.wait_s)

    def taken(self, step: Taken) -> None:
        """What a step cost."""
        taken = batching.StepTaken(
            decoding=step.decoding,
            prefill_tokens=step.prefill_tokens,
            context_tokens=step.context,
            seconds=step.seconds,
        )
        state, law = self._state, self._law
        self._state = self._said.timed(lambda: law.stepped(state, taken, step.end))

    def padded(self, decodes: int) -> int:
        """What a step of so many decodes alone computes for; without a graph, for themselves."""
        if decodes not in self._padded:
            plan = self._law.plan(self._state, batching.Load(decoding=decodes), 0.0)
            self._padded[decodes] = plan.padded_to or decodes
        return self._padded[decodes]


class Preemption:
    """One preemption law. Who is moved and not recomputed is the law's say where both can be."""

    def __init__(self, law: preemption.PreemptionLaw, roster: Roster, said: Deciding) -> None:
        self._law = law
        self._roster = roster
        self._said = said
        self._mode = preemption.Mode.RECOMPUTE

    def victim(self, views: Sequence[View], now: float) -> int:
        """Who gives way."""
        running = [self._running(view) for view in views]
        victim = self._said.timed(lambda: self._law.choose(running, now))
        self._mode = victim.mode
        self._said.tell(preemption.decided(self._law, running, victim, now))
        return victim.index

    def swaps(self, name: str) -> bool:  # noqa: ARG002 - asked of the one that was chosen
        """Whether the one that was chosen last is moved."""
        return self._mode is preemption.Mode.SWAP

    def _running(self, view: View) -> preemption.Running:
        return preemption.Running(
            request=self._roster[int(view.id)],
            scheduled_at=view.arrived_at if view.admitted_at is None else view.admitted_at,
            kv_tokens=view.computed,
            output_tokens=view.emitted,
            preemptions=view.preemptions,
        )
