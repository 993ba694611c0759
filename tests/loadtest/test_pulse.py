"""What a client says of itself each second, and what is kept of it."""

from __future__ import annotations

import asyncio

import pytest

from loadtest.crew_desk import LOOKED_BACK, Course
from loadtest.loopwatch import LoopWatch
from loadtest.pulse import Pulse
from simulator import virtual_time


def test_each_beat_is_of_its_own_second() -> None:
    async def main() -> list[dict[str, float]]:
        loop, stood, used = asyncio.get_running_loop(), 0.0, 0.0
        watch = LoopWatch(lambda: loop.time() + stood)
        pulse = Pulse(watch, clock=loop.time, cpu=lambda: used)
        watch.start()
        beats = []
        for cost, stall in ((0.25, 0.0), (0.9, 0.3), (0.1, 0.0)):
            used, stood = used + cost, stood + stall
            await asyncio.sleep(1)
            beats.append(pulse.beat())
        return beats

    calm, busy, after = virtual_time.run(main())
    assert [one["cpu_share"] for one in (calm, busy, after)] == pytest.approx([0.25, 0.9, 0.1])
    assert calm["loop_lag_max_ms"] == pytest.approx(0, abs=1)
    assert busy["loop_lag_max_ms"] == pytest.approx(300, abs=25)
    assert after["loop_lag_max_ms"] == pytest.approx(0, abs=1)
    assert after["loop_lag_p99_ms"] > 100, "so far, not of the second"


def test_a_workers_course_is_short_however_long_the_run_is() -> None:
    course = Course()
    assert course.to_json() == {}
    for second in range(10 * LOOKED_BACK):
        course.take({"cpu_share": second, "loop_lag_p99_ms": 0.2, "loop_lag_max_ms": 0.4})
    told = course.to_json()
    assert (told["cpu_share"], told["loop_lag_p99_ms"]) == (10 * LOOKED_BACK - 1, 0.2)
    assert told["cpu_course"] == list(range(9 * LOOKED_BACK, 10 * LOOKED_BACK))
    assert told["lag_course_ms"] == [0.4] * LOOKED_BACK
