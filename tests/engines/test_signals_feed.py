"""The feed of signals: fresh, stale, or honestly nothing; and never in the load's way."""

from __future__ import annotations

import asyncio

import pytest

from engines.egress import EgressRules
from engines.signals.base import EngineSignals
from engines.signals_feed import SignalsFeed
from engines.target import Target
from tests.engines.raw_server import Asked, RawServer, Script, Wire, in_turn, page, replying
from tests.engines.sayings import captured

BUSY = page(b"vllm:num_requests_running 5\n")
LONG = 5.0


def feed(url: str, kind: str = "vllm", **options: object) -> SignalsFeed:
    return SignalsFeed(Target(url, "m", kind, "key-1"), EgressRules.loopback(), **options)  # type: ignore[arg-type]


async def stalling(asked: Asked, wire: Wire) -> None:
    await wire.stall()


async def test_a_reading_is_stamped_by_the_clock_that_was_given() -> None:
    seen: list[EngineSignals] = []
    async with RawServer(replying(BUSY)) as server:
        polled = feed(server.url, clock=lambda: 42.0, on_signals=seen.append, within=LONG)
        await polled.poll()
        await polled.close()
    assert seen == [EngineSignals(at=42.0, running=5.0)]
    assert polled.current is polled.latest is seen[0]
    assert polled.capabilities == {"running"}
    assert "Authorization: Bearer key-1" in server.asked[0].head


@pytest.mark.parametrize(
    ("script", "word"),
    [
        (replying(page(b"", "404 Not Found")), "HTTP 404"),
        (replying(page(b'{"iter": 1}')), "none of vllm's names"),
        (replying(b""), "closed before"),
        (replying(page(b"x" * 9_000_000)), "over 8,388,608 bytes"),
        (stalling, "within 0.1 s"),
    ],
)
async def test_a_poll_that_brings_nothing_says_why_and_keeps_the_last_reading(
    script: Script, word: str
) -> None:
    async with RawServer(in_turn([replying(BUSY), script])) as server:
        polled = feed(server.url, within=LONG)
        await polled.poll()
        polled._within = 0.1 if script is stalling else LONG
        assert await polled.poll() is None
        await polled.close()
    assert word in polled.reason
    assert polled.latest is not None
    assert (polled.missed, polled.stale) == (1, False)


async def test_three_missed_polls_make_it_stale_and_one_good_one_fresh_again() -> None:
    gone = replying(page(b"", "503 Busy"))
    scripts = [replying(BUSY), gone, gone, gone, replying(BUSY)]
    stale = []
    async with RawServer(in_turn(scripts)) as server:
        polled = feed(server.url, within=LONG)
        for _ in scripts:
            await polled.poll()
            stale.append((polled.stale, polled.current is None))
        await polled.close()
    assert stale == [(False, False)] * 3 + [(True, True), (False, False)]


async def test_it_polls_at_its_pace_over_one_connection_until_it_is_cancelled() -> None:
    enough = asyncio.Event()
    count = 0

    def seen(_: EngineSignals) -> None:
        nonlocal count
        count += 1
        if count == 4:
            enough.set()

    async with RawServer(replying(page(captured("vllm-metrics.txt")), keep=True)) as server:
        polled = feed(server.url, interval=0.02, within=LONG, on_signals=seen)
        task = asyncio.create_task(polled.run())
        async with asyncio.timeout(10.0):
            await enough.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert server.connections == 1


async def test_a_forbidden_address_is_a_missed_poll_with_the_reason() -> None:
    polled = SignalsFeed(Target("http://10.0.0.1:8000", "m", "vllm"), EgressRules(), within=1.0)
    assert await polled.poll() is None
    assert "private address" in polled.reason


async def test_a_kind_without_signals_is_not_polled() -> None:
    async with RawServer(replying(BUSY)) as server:
        polled = feed(server.url, "openai")
        async with asyncio.timeout(10.0):
            await polled.run()
        assert await polled.poll() is None
    assert (polled.supported, polled.stale, server.asked) == (False, False, [])
    assert polled.reason == "openai has no signals"
    assert polled.capabilities == frozenset()


async def test_before_the_first_reading_the_kinds_claims_stand() -> None:
    assert "kv_use" in feed("http://127.0.0.1:1").capabilities


async def test_a_feed_that_is_cancelled_ends_wherever_it_is() -> None:
    """``asyncio.wait_for`` of Python 3.11 loses a cancel that comes as the wait is over."""
    async with RawServer(replying(BUSY, keep=True)) as server:
        for turns in range(12):
            polled = feed(server.url, within=LONG)
            running = asyncio.ensure_future(polled.run())
            for _ in range(turns):
                await asyncio.sleep(0)
            running.cancel()
            await asyncio.wait({running}, timeout=LONG)
            assert running.cancelled(), f"cancelled after {turns} turns of the loop"
