"""The load-test worker as a child process: start it, hear it, stop it.

It leads its own process group, so that stopping it stops whatever it started. Its stdin is a pipe
that only this process holds: when this process dies, however it dies, the worker reads the end of
its input and stops by itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LONGEST_LINE = 32 * 1024 * 1024
ERRORS_KEPT = 2_000
LAST_WORDS = 1.0
"""Seconds in which what a worker wrote before it ended is read."""

Message = dict[str, Any]


class Ended(Exception):  # noqa: N818 - it is news, not a fault
    """The worker has closed its output."""


class Garbage(ValueError):  # noqa: N818 - the line is the garbage
    """A line that is no message."""


def environment(credential: str) -> dict[str, str]:
    """What the worker may see: enough to run Python, and the engine's key; no secret of ours."""
    kept = (
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "TMPDIR",
        "VIRTUAL_ENV",
        "PYTHONPATH",
        "SSL_CERT_FILE",
    )
    environ = {name: os.environ[name] for name in kept if name in os.environ}
    if credential:
        environ["HEADWAY_API_KEY"] = credential
    return environ


WORKER = "loadtest.worker"


def command(
    scenario: Path, out_dir: Path, *, allow: Sequence[object], module: str = WORKER
) -> list[str]:
    """How the worker is called: public addresses, and the networks in ``allow``."""
    call = [sys.executable, "-m", module]
    call += ["--scenario", str(scenario), "--out", str(out_dir), "--egress", "public"]
    return call + [word for network in allow for word in ("--allow", str(network))]


class Child:
    """One worker. Reading never blocks longer than it is told to."""

    def __init__(
        self, argv: Sequence[str], *, environ: Mapping[str, str], errors: Path, cwd: Path
    ) -> None:
        self._errors = errors
        with errors.open("wb") as sink:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                env=dict(environ),
                cwd=cwd,
                start_new_session=True,
            )
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="worker-lines", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _read(self) -> None:
        stdout = self._process.stdout
        while line := (stdout.readline(LONGEST_LINE) if stdout else b""):
            self._lines.put(line)
        self._lines.put(None)

    def hear(self, timeout: float) -> Message | None:
        """The next message; None when nothing came in time. Raises Ended or Garbage."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            if not self._exited():
                return None
            line = self._last_line()
        if line is None:
            self._lines.put(None)
            raise Ended
        try:
            message = json.loads(line)
        except ValueError:
            raise Garbage(line[:200].decode(errors="replace").strip()) from None
        if not isinstance(message, dict) or not isinstance(message.get("type"), str):
            raise Garbage(line[:200].decode(errors="replace").strip())
        return message

    def _last_line(self) -> bytes | None:
        """What it said between the end of our waiting and its own; None where that is all.

        Someone it started may still hold its output open, so the end of it may never come.
        """
        try:
            return self._lines.get(timeout=LAST_WORDS)
        except queue.Empty:
            return None

    def cancel(self) -> None:
        """Ask it to stop; it closes what is open and writes its report."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    def tell(self, line: bytes) -> None:
        """Write to its input; one that has ended hears nothing."""
        if self._process.stdin:
            with contextlib.suppress(OSError):
                self._process.stdin.write(line)
                self._process.stdin.flush()

    def kill(self) -> None:
        """Stop it and all of its group, now. Once it is reaped, its id may be another's."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _exited(self) -> bool:
        """Whether it has ended; it is left unreaped, so that its group's id stays taken."""
        if self._process.returncode is not None:
            return True
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        return os.waitid(os.P_PID, self._process.pid, flags) is not None

    def close(self, timeout: float = 5.0) -> int:
        """Reap it and return its exit code; what is left of its group after that is killed."""
        if self._process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        deadline = time.monotonic() + timeout
        while not self._exited() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.kill()
        code = self._process.wait()
        self._reader.join(timeout)
        if self._process.stdout:
            self._process.stdout.close()
        return code

    def last_words(self) -> str:
        """The end of what it wrote to its error output."""
        with contextlib.suppress(OSError):
            return self._errors.read_bytes()[-ERRORS_KEPT:].decode(errors="replace").strip()
        return ""
