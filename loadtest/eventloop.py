"""The event loop that load runs on: uvloop where there is one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_SWITCH = 0.0005
"""Seconds for which another thread may hold the interpreter while load waits; Python's 5 ms is
longer than a request may be late."""


def run_fast(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, with other threads made to give way quickly."""
    sys.setswitchinterval(_SWITCH)
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform != "win32":
        import uvloop  # noqa: PLC0415 - not to be had everywhere

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)
