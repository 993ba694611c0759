"""A time-out while the process itself stands still: what came meanwhile counts."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from engines.transport.patient_timeout import GRACE, LATE, patient_timeout


async def received(ours: socket.socket, within: float) -> bytes:
    async with patient_timeout(within):
        return await asyncio.get_running_loop().sock_recv(ours, 1)


async def after_standing_still(*, came: bool) -> bytes:
    """What is read by a process that was stopped as its time-out passed."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        reading = asyncio.ensure_future(received(ours, 0.01))
        await asyncio.sleep(0)
        if came:
            theirs.send(b"x")
        time.sleep(3 * LATE)  # noqa: ASYNC251 - as SIGSTOP does
        return await reading


async def test_what_came_while_the_process_stood_still_is_no_time_out() -> None:
    assert await after_standing_still(came=True) == b"x"


async def test_what_did_not_come_is_a_time_out_a_moment_later() -> None:
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        await after_standing_still(came=False)
    assert time.monotonic() - began >= 3 * LATE + GRACE - 0.02


async def test_without_a_stall_it_is_an_ordinary_time_out_and_may_be_none() -> None:
    with pytest.raises(TimeoutError):
        async with patient_timeout(0.01):
            await asyncio.sleep(60)
    async with patient_timeout(float("inf")):
        await asyncio.sleep(0)
