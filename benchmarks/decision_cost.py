"""What one decision costs: µs of every registered law, at every decision point.

    python -m benchmarks.decision_cost

CPU time; the bar is a median of 20 µs. A decision is what a host asks for one request: admission,
its offer, first token and end; ordering, to join a waiting room and to be chosen from among 1,000;
concurrency, a step and the new limit; batching, a plan and the step that follows; preemption, one
victim of 64; retry, a request that fails once. Every fifth answer is slow and every fiftieth a
refusal, so that windows fill and cuts happen.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from documents.parse import build
from schedulers.admission.base import Action, Ended
from schedulers.admission.base import laws as admissions
from schedulers.batching.base import Load, StepTaken
from schedulers.concurrency.base import Observation, OutcomeKind
from schedulers.decision import DecisionPoint
from schedulers.ordering.base import Waiting
from schedulers.points import registered
from schedulers.preemption.base import Running
from schedulers.request import Request
from schedulers.retry.base import Failure
from schedulers.runtime.caps import Caps
from schedulers.runtime.waiting_room import WaitingRoom
from schedulers.signals import Signals

STEPS = 5_000
QUEUE = 1_000
BATCH = 64
BAR_US = 20.0

Ask = Callable[[int], Callable[[], object]]
"""By its number from 1: makes what a decision is about, and gives the decision to be timed."""


def request(serial: int, now: float) -> Request:
    """Three tenants, three tiers, lengths that differ."""
    return Request(
        serial=serial,
        arrived_at=now,
        tenant=f"tenant-{serial % 3}",
        tier=("vip", "normal", "batch")[serial % 3],
        prompt_tokens=100 + serial % 97 * 10,
        max_tokens=50 + serial % 13 * 20,
        service_s=0.1 + serial % 7 * 0.05,
        deadline_at=now + 1e6 + serial % 11,
    )


def at(number: int) -> float:
    return 10.0 + number * 0.01


def admission(law: Any) -> Ask:
    state = law.start()

    def ask(number: int) -> Callable[[], object]:
        now, one = at(number), request(number, at(number))
        seen = Signals(
            read_at=now, poll_s=1.0, running=32, waiting=2, kv_used=0.5, kv_tokens=400_000,
            max_running=128, prefill_rate=16_000.0,
        )  # fmt: skip

        def decide() -> None:
            nonlocal state
            state, answer = law.offer(state, one, seen, now)
            if answer.action is Action.ADMIT:
                state = law.prefilled(state, answer.reservation, now)
                over = Ended(
                    request=one, reservation=answer.reservation, admitted_at=now, output_tokens=80
                )
                state = law.ended(state, over, now)

        return decide

    return ask


def ordering(law: Any) -> Ask:
    takes_all = build(admissions.get("always"), {})
    caps = Caps(total=10 * QUEUE, vip=QUEUE, normal=QUEUE, batch=QUEUE, batch_ttl_s=86_400.0)
    room = WaitingRoom(takes_all, law, caps, lambda: 0.5)
    for serial in range(1, QUEUE + 1):
        room.join(Waiting(request=request(serial, 10.0)), 10.0)

    def ask(number: int) -> Callable[[], object]:
        now = at(number)
        one = Waiting(request=request(QUEUE + number, now))

        def decide() -> None:
            room.join(one, now)
            room.next(None, now)

        return decide

    return ask


def concurrency(law: Any) -> Ask:
    state = law.start()

    def ask(number: int) -> Callable[[], object]:
        now, latency = at(number), 0.6 if number % 5 == 0 else 0.4
        kind = OutcomeKind.REJECTED if number % 50 == 0 else OutcomeKind.OK
        seen = Observation(
            started_at=now - latency, in_flight=64, kind=kind, latency=latency, ttft=latency / 4
        )

        def decide() -> None:
            nonlocal state
            state, _ = law.step(state, seen, now)
            law.limit(state)

        return decide

    return ask


def batching(law: Any) -> Ask:
    state = law.start()

    def ask(number: int) -> Callable[[], object]:
        decoding, prompt = number % 64, 100 * (number % 30)
        load = Load(decoding=decoding, waiting=2, waiting_tokens=prompt, arrival_rate=5.0)
        taken = StepTaken(
            decoding=decoding,
            prefill_tokens=prompt + 1,
            context_tokens=1000 * decoding,
            seconds=0.01 + 1e-5 * (decoding + prompt),
        )

        def decide() -> None:
            nonlocal state
            law.plan(state, load, at(number))
            state = law.stepped(state, taken, at(number))

        return decide

    return ask


def preemption(law: Any) -> Ask:
    running = [
        Running(
            request=request(serial, 1.0),
            scheduled_at=1.0 + 0.01 * serial,
            kv_tokens=10 * serial,
            output_tokens=serial % 40,
        )
        for serial in range(1, BATCH + 1)
    ]
    return lambda number: lambda: law.choose(running, at(number))


def retry(law: Any) -> Ask:
    state = law.start()

    def ask(number: int) -> Callable[[], object]:
        now = at(number)
        failure = Failure(kind=OutcomeKind.REJECTED, attempts=1, retry_after=1.0)

        def decide() -> None:
            nonlocal state
            state, _ = law.offered(state, 0.5, now)
            state, _ = law.failed(state, failure, 0.5, now)
            state = law.succeeded(state, now)

        return decide

    return ask


ASKED: Mapping[DecisionPoint, Callable[[Any], Ask]] = {
    DecisionPoint.ADMISSION: admission,
    DecisionPoint.ORDERING: ordering,
    DecisionPoint.CONCURRENCY: concurrency,
    DecisionPoint.BATCHING: batching,
    DecisionPoint.PREEMPTION: preemption,
    DecisionPoint.RETRY: retry,
}


def cost_us(ask: Ask, steps: int) -> tuple[float, float]:
    """Median and 99th percentile of CPU µs."""
    costs = []
    for number in range(1, steps + 1):
        decide = ask(number)
        began = time.process_time_ns()
        decide()
        costs.append((time.process_time_ns() - began) / 1e3)
    return statistics.median(costs), statistics.quantiles(costs, n=100)[98]


def main(steps: int = STEPS) -> None:
    """A line for each law."""
    print(f"{'point':14}{'law':24}{'p50':>10}{'p99':>10}   µs CPU; bar {BAR_US:g} (median)")
    for point in DecisionPoint:
        for name, cls in registered(point).items():
            median, p99 = cost_us(ASKED[point](build(cls, {})), steps)
            mark = "  over" if median > BAR_US else ""
            print(f"{point:14}{name:24}{median:10.1f}{p99:10.1f}{mark}", flush=True)


if __name__ == "__main__":
    main()
