"""Waiting for what must come, with a deadline that fails the test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


async def within(seconds: float, condition: Callable[[], object]) -> float:
    """Seconds until the condition held; AssertionError when it does not in time."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise AssertionError(f"not within {seconds:g} s")
        await asyncio.sleep(0.001)
    return time.monotonic() - began
