"""A slice carried by a process of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from loadtest.crew_member import STOP_WITHIN, Heard, Member
from loadtest.execution import Start
from loadtest.scenario import Scenario
from loadtest.schedule import Slice

LONGEST_LINE = 32 * 1024 * 1024
SILENCE = 10.0
"""Seconds between two messages after which a worker counts as lost, once load has begun. Whoever
supervises the run hears nothing while windows wait for it, and is more patient than this."""


class LocalMember(Member):
    """Its input is a pipe that only we hold: when we die, however we die, it stops by itself."""

    def __init__(self, part: Slice, out: Path, egress: Sequence[str], heard: Heard) -> None:
        super().__init__(part, f"Worker {part.number + 1} of {part.of}", heard)
        self.out = out
        self._egress = egress
        self._process: asyncio.subprocess.Process | None = None
        self._gone = False

    @property
    def files(self) -> Path:
        return self.out

    async def start(self, scenario: Scenario) -> None:
        """Start the process and listen to it."""
        self.out.mkdir(exist_ok=True)
        given = self.out / "given.json"
        given.write_text(json.dumps(scenario.to_document()), "utf-8")
        words = ["--scenario", str(given), "--out", str(self.out), *self._egress, "--barrier"]
        part = f"{self.part.number}/{self.part.of}"
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "loadtest.worker", *words, "--slice", part),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
        )
        self.listening = asyncio.ensure_future(self._listen())

    def go(self, start: Start) -> None:
        self._gone = True
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(start.line())

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
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _hear(self) -> None:
        stdout = self._process.stdout if self._process else None
        while stdout is not None:
            try:
                async with asyncio.timeout(SILENCE):
                    line = await stdout.readline()
            except TimeoutError:
                if self._gone:
                    raise
                continue  # until the start, whoever waits for all of them keeps the deadline
            if not line:
                return
            self._take(json.loads(line))

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
