"""Retrying in virtual time: waits are waited, budgets are shared, cancellation leaves nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Decision, Reason
from schedulers.retry.base import laws
from schedulers.runtime.retrying import Attempted, Failed, Retrier, Throttled
from simulator import virtual_time

BUSY = Failed(kind=OutcomeKind.REJECTED, retry_after=4.0)


def retrier(name: str, seen: list[Decision] | None = None, **parameters: Any) -> Retrier:
    cls: Any = laws.get(name)
    told = None if seen is None else seen.append
    return Retrier(
        cls(**parameters),
        sleep=asyncio.sleep,
        clock=asyncio.get_running_loop().time,
        draw=lambda: 0.5,
        on_decision=told,
    )


def answers(*failures: Failed | None) -> Any:
    """An endpoint that fails so, then succeeds."""
    left = list(failures)

    async def attempt(number: int) -> tuple[int, Failed | None]:
        await asyncio.sleep(0.1)
        return number, left.pop(0) if left else None

    return attempt


def failure_of(result: tuple[int, Failed | None]) -> Failed | None:
    return result[1]


def test_it_comes_back_after_the_time_that_was_asked_for_and_a_little_more() -> None:
    async def main() -> tuple[Attempted[Any], float, list[Decision]]:
        seen: list[Decision] = []
        it = retrier("full_jitter", seen, base_ms=1000)
        done = await it.run(answers(BUSY, BUSY), failure_of)
        return done, asyncio.get_running_loop().time(), seen

    done, took, seen = virtual_time.run(main())
    assert (done.result, done.attempts) == ((3, None), 3)
    assert took == pytest.approx(0.3 + 4.5 + 5.0)
    assert done.waited_s == pytest.approx(9.5)
    assert [str(line.reason) for line in seen] == ["retried", "retried"]


def test_the_last_failure_is_the_answer_where_the_law_says_no_more() -> None:
    async def main() -> Attempted[Any]:
        it = retrier("full_jitter", max_attempts=3)
        return await it.run(answers(*[BUSY] * 9), failure_of)

    done = virtual_time.run(main())
    assert (done.attempts, done.result[1]) == (3, BUSY)


def test_a_deadline_is_kept() -> None:
    async def main() -> tuple[Attempted[Any], float]:
        it = retrier("full_jitter")
        done = await it.run(answers(*[BUSY] * 9), failure_of, deadline_at=6.0)
        return done, asyncio.get_running_loop().time()

    done, at = virtual_time.run(main())
    assert done.attempts == 2
    assert at < 6.0


def test_all_requests_of_a_client_share_one_budget() -> None:
    async def main() -> int:
        it = retrier("full_jitter", budget=0.0, reserve=5.0)
        runs = [it.run(answers(*[BUSY] * 9), failure_of) for _ in range(20)]
        return sum(done.attempts for done in await asyncio.gather(*runs))

    assert virtual_time.run(main()) == 25


def test_a_throttled_request_is_never_sent() -> None:
    async def main() -> int:
        it = retrier("client_throttle", max_attempts=1)
        sent, reasons = 0, set()
        for _ in range(50):
            try:
                await it.run(answers(BUSY), failure_of)
                sent += 1
            except Throttled as throttled:
                reasons.add(throttled.reason)
        assert reasons == {Reason.THROTTLED}
        return sent

    assert virtual_time.run(main()) < 10


def test_cancelled_while_it_waits_or_sends_it_is_just_gone() -> None:
    async def main() -> None:
        it = retrier("full_jitter", base_ms=1000)
        for when in (0.05, 2.0):
            task = asyncio.ensure_future(it.run(answers(BUSY, BUSY), failure_of))
            asyncio.get_running_loop().call_later(when, task.cancel)
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (await it.run(answers(), failure_of)).attempts == 1

    virtual_time.run(main())


def test_a_fault_of_an_attempt_passes_through() -> None:
    async def broken(number: int) -> tuple[int, Failed | None]:
        raise OSError("cut")

    async def main() -> None:
        with pytest.raises(OSError, match="cut"):
            await retrier("full_jitter").run(broken, failure_of)

    virtual_time.run(main())
