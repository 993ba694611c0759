"""One worker of several, as the process that leads them sees it: start it, hear it, stop it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from loadtest.execution import Measured, Start
from loadtest.measured_json import from_json
from loadtest.schedule import Slice

LONGEST_LINE = 32 * 1024 * 1024
SILENCE = 20.0
"""Seconds between two messages after which a worker counts as lost."""
STOP_WITHIN = 3.0
"""Seconds from being asked to stop to being killed."""

Message = dict[str, Any]


class Member:
    """Its input is a pipe that only we hold: when we die, however we die, it stops by itself."""

    def __init__(self, part: Slice, out: Path, heard: Callable[[Slice, Message], None]) -> None:
        self.part = part
        self.out = out
        self.measured: Measured | None = None
        self.lost = ""
        """Why it was given up; empty while it is heard."""
        self.refused = ""
        """What it said instead of getting ready."""
        self.ready = asyncio.Event()
        """Set when it is ready, or never will be."""
        self.listening: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._heard = heard
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, scenario: Path, egress: Sequence[str]) -> None:
        """Start the process and listen to it; it says that it is ready when it is."""
        words = ["--scenario", str(scenario), "--out", str(self.out), *egress, "--barrier"]
        part = f"{self.part.number}/{self.part.of}"
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "loadtest.worker", *words, "--slice", part),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
        )
        self.listening = asyncio.ensure_future(self._listen())

    def go(self, start: Start) -> None:
        """Name the common start."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(f"{start.monotonic!r} {start.unix!r}\n".encode())

    async def _listen(self) -> None:
        """Hear it to its end, and say how that came."""
        why = ""
        try:
            await self._hear()
        except TimeoutError:
            why = f"said nothing for {SILENCE:g} s and was killed"
        except ValueError as error:
            why = f"said what is no message, and was killed: {error}"
        finally:
            code = await self._reap()
        if self.measured is None:
            self.lost = why or self.refused or _how(code)
        self.ready.set()

    def cancel(self) -> None:
        """Ask it to stop: it closes what is open and reports."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    def kill(self) -> None:
        """Stop it now."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _hear(self) -> None:
        stdout = self._process.stdout if self._process else None
        while stdout is not None:
            async with asyncio.timeout(SILENCE):
                line = await stdout.readline()
            if not line:
                return
            self._take(json.loads(line))

    def _take(self, message: Message) -> None:
        kind = message["type"]
        if kind == "ready":
            self.ready.set()
        elif kind == "measured":
            self.measured = from_json(message["measured"])
        elif kind == "error":
            self.refused = f"said: {message['message']}"
        else:
            self._heard(self.part, message)

    async def _reap(self) -> int:
        if self._process is None:
            return 0
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(STOP_WITHIN):
                return await self._process.wait()
        except TimeoutError:
            self.kill()
            return await self._process.wait()


def _how(code: int) -> str:
    if code < 0:
        return f"was killed by signal {-code}"
    return f"ended with code {code} before it reported"
