"""The closed loop's slots, by who launches what they ask."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from documents.parse import build
from loadtest.arrivals.base import processes
from loadtest.pacer import pacer
from loadtest.schedule import Job, Schedule
from loadtest.workloads.base import workloads
from simulator import virtual_time


class Launched:
    """Sends nothing, and keeps what it was asked to."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def prepare(self, job: Job, prompt: str) -> Any:
        return SimpleNamespace(job=job, prompt=prompt)

    def depart(self, departure: Any) -> None: ...

    def launch(self, departure: Any) -> None:
        self.jobs.append(departure.job)


def test_a_slot_is_not_lost_where_a_request_of_its_number_ends_before_it_has_begun() -> None:
    """A client without descriptors fails at once: its first slots ask again before the last ones
    have begun, and each request that ended so would have taken a slot's place."""

    async def main() -> list[Job]:
        loop, launched = asyncio.get_running_loop(), Launched()
        schedule = Schedule(
            build(processes.get("closed"), {"concurrency": 5}),
            build(workloads.get("fixed"), {"prompt_tokens": 8, "output_tokens": 4}),
            duration=10.0,
            seed=1,
        )
        paced = pacer(schedule, launched, lambda: loop.time() - 1.0)
        running = asyncio.ensure_future(paced.run())
        await asyncio.sleep(0.5)
        for index in (2, 3):
            paced.ended(Job(index, 0.0, schedule.shape(index)), 0.0, success=True)
        await asyncio.sleep(1.0)
        paced.stop(0.5)
        running.cancel()
        return launched.jobs

    assert len(virtual_time.run(main())) == 7
