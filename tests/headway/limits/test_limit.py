"""Limits as a script uses them, in virtual time: turns, retries, and errors of their own."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from headway.limits import BadPolicy, Limit, LimitError, Misuse, SelfRefused
from schedulers.decision import Decision
from simulator import virtual_time


def policy(**spec: Any) -> dict[str, Any]:
    spec = {"concurrency": {"law": "fixed", "limit": 2}} | spec
    return {
        "apiVersion": "headway/v1",
        "kind": "Policy",
        "metadata": {"name": "mine"},
        "spec": spec,
    }


class Refused(Exception):  # noqa: N818 - what it is
    """As the openai client raises it."""

    status_code = 429

    def __init__(self, wait: str = "2") -> None:
        self.response = type("Response", (), {"headers": {"Retry-After": wait}})()


def test_no_more_than_the_policy_allows_are_in_flight() -> None:
    async def main() -> int:
        limit = Limit(policy())
        peak = 0

        async def send(number: int) -> int:
            nonlocal peak
            peak = max(peak, limit.in_flight)
            await asyncio.sleep(1.0)
            return number

        assert await asyncio.gather(*(limit.call(send, n) for n in range(6))) == [*range(6)]
        assert (limit.in_flight, limit.waiting, limit.now) == (0, 0, 2)
        assert asyncio.get_running_loop().time() == pytest.approx(3.0)
        return peak

    assert virtual_time.run(main()) == 2


def test_a_refused_call_comes_back_when_it_was_told_to_and_holds_no_place_meanwhile() -> None:
    async def main() -> list[Decision]:
        seen: list[Decision] = []
        spec = {"concurrency": {"law": "fixed", "limit": 1}, "retry": {"law": "full_jitter"}}
        limit = Limit(policy(**spec), on_decision=seen.append, seed=1)
        tries: list[float] = []

        async def send() -> str:
            tries.append(asyncio.get_running_loop().time())
            if len(tries) == 1:
                raise Refused
            return "well"

        async def other() -> None:
            assert limit.in_flight == 1

        first = asyncio.ensure_future(limit.call(send))
        await asyncio.sleep(1.0)
        assert limit.in_flight == 0
        await limit.call(other)
        assert await first == "well"
        assert 2.0 <= tries[1] < 2.6
        return seen

    assert [str(line.reason) for line in virtual_time.run(main())] == ["retried"]


def test_what_a_call_raises_at_last_is_its_own_error() -> None:
    async def main() -> None:
        limit = Limit(policy(retry={"law": "full_jitter", "max_attempts": 2}))
        with pytest.raises(Refused):
            await limit.call(broken)
        with pytest.raises(ZeroDivisionError):
            await limit.call(wrong)
        assert calls == ["broken", "broken", "wrong"], "a fault of one's own is not tried again"
        assert limit.in_flight == 0

    calls: list[str] = []

    async def broken() -> None:
        calls.append("broken")
        raise Refused

    async def wrong() -> None:
        calls.append("wrong")
        raise ZeroDivisionError

    virtual_time.run(main())


def test_a_refusal_lowers_the_limit_and_a_status_told_by_hand_does_too() -> None:
    async def main() -> list[int]:
        limit = Limit(policy(concurrency={"law": "aimd", "initial": 10, "backoff": 0.5}))
        found = [limit.now]
        async with limit.request() as request:
            await asyncio.sleep(0.1)
            request.tokens(prompt=10, output=0)
            request.status(429, {"Retry-After": "1"})
        found.append(limit.now)
        await asyncio.sleep(1.0)
        request = limit.request()
        with suppress(TimeoutError):
            async with request, asyncio.timeout(0.1):
                await asyncio.sleep(9.0)
        return [*found, limit.now]

    assert virtual_time.run(main()) == [10, 5, 2]


def test_cancelled_callers_leave_their_places() -> None:
    async def main() -> None:
        limit = Limit(policy(retry={"law": "full_jitter"}))
        calls = [asyncio.ensure_future(limit.call(asyncio.sleep, 9.0)) for _ in range(4)]
        await asyncio.sleep(1.0)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert (limit.in_flight, limit.waiting) == (0, 0)

    virtual_time.run(main())


def test_a_retry_law_may_refuse_before_anything_is_sent() -> None:
    async def main() -> None:
        limit = Limit(policy(retry={"law": "client_throttle", "max_attempts": 1}), seed=3)
        kinds = set()
        for _ in range(99):
            (error,) = await asyncio.gather(limit.call(refused), return_exceptions=True)
            kinds.add(type(error))
        assert kinds == {Refused, SelfRefused}

    async def refused() -> None:
        raise Refused

    virtual_time.run(main())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("no-such", "is no built-in policy"),
        ({"kind": "Policy"}, "metadata"),
        (
            policy(concurrency={"law": "fixed", "limit": 0}),
            "spec.concurrency.limit: must be a whole",
        ),
        ({**policy(), "spec": {"retry": {"law": "none"}}}, "spec.concurrency: is required here"),
        (7, "must be a mapping"),
    ],
)
def test_a_policy_that_cannot_be_used_is_refused_with_its_faults(given: Any, said: str) -> None:
    with pytest.raises(BadPolicy, match=said) as caught:
        Limit(given)
    assert isinstance(caught.value, LimitError)
    assert caught.value.problems


def test_misuse_is_told_in_words() -> None:
    async def main() -> None:
        limit = Limit(policy())
        with pytest.raises(Misuse, match=r"drop the \(\)"):
            await limit.call("not callable")  # type: ignore[arg-type]
        with pytest.raises(Misuse, match="async function"):
            await limit.call(lambda: 3)  # type: ignore[arg-type, return-value]
        assert limit.in_flight == 0
        request = limit.request()
        with pytest.raises(Misuse, match="only within"):
            request.first_token()
        async with request:
            request.first_token()
            for bad in (-1, True):
                with pytest.raises(Misuse, match="number of tokens"):
                    request.tokens(output=bad)
            with pytest.raises(Misuse, match="100 to 599"):
                request.status(20)
        with pytest.raises(Misuse, match="entered once"):
            async with request:
                pass

    virtual_time.run(main())


def test_a_limit_belongs_to_one_loop() -> None:
    limit = Limit(policy())

    async def use() -> None:
        async with limit.request():
            pass

    virtual_time.run(use())
    with pytest.raises(Misuse, match="another event loop"):
        virtual_time.run(use())


def test_a_policy_may_come_from_a_file_and_says_what_it_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(str(policy(ordering={"law": "vtc"})).replace("'", '"'))
    limit = Limit(path)
    assert (limit.not_held, limit.now, limit.policy.name) == (("ordering",), 2, "mine")
