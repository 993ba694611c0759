"""Start a gate's run once and wait for its verdict, through restarts and short outages."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from headway.gating.server import Away, Server
from headway.running.progress import line

T = TypeVar("T")
GateRun = dict[str, Any]

LONG_POLL = 10.0
"""Seconds that one question waits for the end; a line of progress comes as often."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: how long a server may be away, and how the pauses between two calls grow."""

    away: float = 60.0
    first: float = 0.5
    longest: float = 15.0


class Stopped(Exception):  # noqa: N818 - what happened
    """Ctrl-C, or the deadline; ``run`` is as it was last seen, None when none was started."""

    def __init__(self, word: str, reason: str, run: GateRun | None) -> None:
        super().__init__(reason)
        self.word = word
        self.run = run


class Waiting:
    """One call of a gate."""

    def __init__(
        self,
        server: Server,
        stop: asyncio.Event,
        *,
        timeout: float,
        say: Callable[[str], None],
        patience: Patience | None = None,
    ) -> None:
        self._server = server
        self._stop = stop
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._say = say
        self._patience = patience or Patience()
        self._run: GateRun | None = None

    async def verdict(self, slug: str, overrides: Mapping[str, str]) -> GateRun:
        """Start it and wait. Away when the server stays away, Refused when it says no."""
        key = f"headway-gate-{uuid.uuid4()}"
        at = f"/gates/{slug}/runs"
        run = self._run = await self._patiently(lambda: self._server.post(at, overrides, key=key))
        self._say(f"gate {slug} v{run['version']}: run {run['id']}, policy {run['policy']}")
        self._say(f"{self._server.base}{run['links']['page']}")
        while run["exit_code"] is None:
            run = self._run = await self._patiently(partial(self._look, f"{at}/{run['id']}"))
            if run["exit_code"] is None:
                self._say(progress(run))
        return run

    async def _look(self, path: str) -> GateRun:
        """A long poll; one that comes back at once, as of an old proxy, is no busy loop."""
        wait = max(1.0, min(LONG_POLL, self._deadline - time.monotonic()))
        began = time.monotonic()
        run = await self._server.get(f"{path}?wait={wait:.0f}", within=wait + 20)
        if run["exit_code"] is None:
            await asyncio.sleep(max(0.0, self._patience.first - (time.monotonic() - began)))
        return run

    async def cancel(self, run: GateRun) -> bool:
        """Stop the run that was started; whether the server took it."""
        try:
            await self._server.post(f"/runs/{run['id']}/cancel", {}, within=5.0)
        except Exception:  # noqa: BLE001 - leaving anyway; what was said stays the exit's reason
            return False
        return True

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """The answer, asking again while the server is away for no longer than it may be."""
        pause, since = self._patience.first, time.monotonic()
        while True:
            try:
                return await self._unless_stopped(call())
            except Away as away:
                if time.monotonic() - since + pause > self._patience.away:
                    raise
                self._say(f"{away}; asking again")
                await self._unless_stopped(asyncio.sleep(max(pause, away.retry_after)))
                pause = min(2 * pause, self._patience.longest)

    async def _unless_stopped(self, work: Awaitable[T]) -> T:
        task, stop = asyncio.ensure_future(work), asyncio.ensure_future(self._stop.wait())
        left = max(0.0, self._deadline - time.monotonic())
        try:
            await asyncio.wait({task, stop}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            stop.cancel()
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if self._stop.is_set():
            raise Stopped("cancelled", "Stopped by a signal.", self._run)
        reason = f"No verdict within {self._timeout:g} s."
        raise Stopped("infrastructure", reason, self._run)


def progress(run: Mapping[str, Any]) -> str:
    """One line of a run that has not ended."""
    so_far = run.get("so_far") or {}
    totals, verdict = so_far.get("totals"), so_far.get("verdict") or {}
    if not totals:
        return f"{run['status']}{': ' + run['reason'] if run.get('reason') else ''}"
    return f"{line(run['elapsed_s'], totals, run['duration_s'])} · so far {verdict.get('outcome')}"
