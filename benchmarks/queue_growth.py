"""What a turn of the engine model's queue costs under an ordering law, by how many wait.

    python -m benchmarks.queue_growth

CPU time: one is chosen and leaves, another joins, while so many wait all along. What a turn costs
should grow as the logarithm of what waits, or not at all.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from benchmarks.decision_cost import request
from documents.parse import build
from loadtest.simulation.queueing import Queueing
from schedulers.admission.base import laws as admissions
from schedulers.ordering.base import laws as orderings
from schedulers.runtime.caps import Caps
from schedulers.runtime.deciding import Deciding
from schedulers.runtime.waiting_room import WaitingRoom
from simulator.core.hooks import View

LENGTHS = (100, 1_000, 10_000)
TURNS = 2_000


def view(serial: int) -> View:
    """A request that has said nothing yet."""
    return View(str(serial), "", 0.0, 0.0, 1000, 0, 0, 0)


def cost_us(name: str, length: int, turns: int) -> float:
    """Median CPU µs of a turn with so many waiting."""
    law: Any = build(orderings.get(name), {})
    room = WaitingRoom(build(admissions.get("always"), {}), law, Caps(), lambda: 0.5)
    roster: Any = {
        serial: request(serial, 10.0 + serial * 0.01) for serial in range(1, length + turns + 1)
    }
    line = Queueing(room, roster, Deciding(lambda: 0.0, lambda _: None))
    for serial in range(1, length + 1):
        line.joined(view(serial))
    costs = []
    for serial in range(length + 1, length + turns + 1):
        joins, now = view(serial), roster[serial].arrived_at
        began = time.process_time_ns()
        line.joined(joins)
        line.left(line.first(now))
        costs.append((time.process_time_ns() - began) / 1e3)
    return statistics.median(costs)


def main(lengths: tuple[int, ...] = LENGTHS, turns: int = TURNS) -> None:
    """A line for each law."""
    print(f"{'law':20}" + "".join(f"{length:>10,}" for length in lengths) + "   waiting; µs CPU")
    for name in orderings.all():
        costs = [cost_us(name, length, turns) for length in lengths]
        print(f"{name:20}" + "".join(f"{cost:10.1f}" for cost in costs), flush=True)


if __name__ == "__main__":
    main()
