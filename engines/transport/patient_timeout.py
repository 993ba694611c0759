"""A time-out that does not take its own process's standing still for the other side's silence."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

LATE = 0.05
"""Seconds behind its time at which a timer shows that the process stood still."""
GRACE = 0.1
"""Seconds for what came meanwhile to be read."""


@asynccontextmanager
async def patient_timeout(within: float) -> AsyncIterator[None]:
    """As ``asyncio.timeout``; where it fires late, what came meanwhile is heard first."""
    if not math.isfinite(within):
        yield
        return
    loop = asyncio.get_running_loop()
    due = loop.time() + within
    async with asyncio.timeout(None) as limit:

        def fire() -> None:
            late = loop.time() - due > LATE
            limit.reschedule(loop.time() + GRACE * late)

        handle = loop.call_later(within, fire)
        try:
            yield
        finally:
            handle.cancel()
