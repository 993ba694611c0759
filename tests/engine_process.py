"""The simulated engine in a process of its own, for tests that go over loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class EngineProcess:
    url: str

    def metric(self, name: str) -> float:
        """The sum of one of its metrics over its labels."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        found = [line for line in text.splitlines() if line.startswith((f"{name} ", f"{name}{{"))]
        assert found, f"no metric {name}"
        return sum(float(line.rsplit(" ", 1)[1]) for line in found)


@contextmanager
def engine_process(*options: str) -> Iterator[EngineProcess]:
    """Started on a free port, ended when the block ends."""
    command = [sys.executable, "-m", "headway", "engine", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            url = next(word for word in line.split() if word.startswith("http://"))
            yield EngineProcess(url)
        finally:
            os.kill(process.pid, signal.SIGTERM)
            process.wait(timeout=10)
