"""Lint, types, contracts and every test, no core idle: ``python -m tests.passes [PYTEST ARGS]``.

What sends load or stands as a whole set-up mostly waits, and can't bear a neighbour that takes the
core from it. So it runs first, and everything that asks no clock runs beside it with what processor
time is left: in the system's idle class, from which the others take the core back at once. What
drives browsers and workers comes last, with the machine for itself.

Each pass is printed as it runs, what ran beside when it is over. The exit code is 1 where any
failed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

BIN = Path(sys.executable).parent
NOTHING_ASKED = 5
"""pytest's exit code where its arguments name no test of this pass."""
BESIDE = "--beside"


@dataclass(frozen=True)
class Pass:
    """One command. ``asked`` are arguments that the user gave to pytest."""

    name: str
    words: tuple[str, ...]
    asked: tuple[str, ...] = ()

    def run(self) -> bool:
        """Run it and say how long it took; whether it passed."""
        began = time.monotonic()
        program, *words = (*self.words, *self.asked)
        code = subprocess.run([BIN / program, *words], check=False).returncode
        passed = code == 0 or (code == NOTHING_ASKED and bool(self.asked))
        word = "passed" if passed else f"FAILED with exit code {code}"
        print(f"== {self.name} {word} in {time.monotonic() - began:.0f} s", flush=True)
        return passed


def tests(name: str, *words: str, asked: Sequence[str]) -> Pass:
    """The tests of one pass of ``tests/conftest.py``; those of a file share a process."""
    return Pass(name, ("pytest", "-m", name, "--dist", "loadfile", *words), tuple(asked))


def first(asked: Sequence[str]) -> list[Pass]:
    """What may not be kept waiting."""
    return [tests("realtime", "-n", "2", asked=asked), tests("alone", asked=asked)]


def beside(asked: Sequence[str]) -> list[Pass]:
    """What asks no clock. A test may take as long as it must."""
    return [
        Pass("format", ("ruff", "format", "--check", ".")),
        Pass("lint", ("ruff", "check", ".")),
        Pass("types", ("mypy",)),
        Pass("contracts", ("lint-imports",)),
        tests("unhurried", "-n", "2", "--timeout", "900", asked=asked),
    ]


def last(asked: Sequence[str]) -> list[Pass]:
    """What takes every core for a while. A third process fills in where two wait."""
    return [tests("prompt", "-n", "3", asked=asked)]


def run_all(passes: Sequence[Pass]) -> int:
    """All of them, whichever fails; 1 where one did."""
    return max(not each.run() for each in passes)


def main(asked: Sequence[str]) -> int:
    """Everything; 1 where anything failed."""
    if asked[:1] == [BESIDE]:
        give_way()
        return run_all(beside(asked[1:]))
    began = time.monotonic()
    with in_idle_time([sys.executable, "-m", "tests.passes", BESIDE, *asked]) as over:
        failed = run_all(first(asked))
        failed |= over()
    failed |= run_all(last(asked))
    word = "something FAILED, see above" if failed else "everything passed"
    print(f"== {word} in {time.monotonic() - began:.0f} s", flush=True)
    return failed


@contextlib.contextmanager
def in_idle_time(command: Sequence[str]) -> Iterator[Callable[[], int]]:
    """A command that gives way by itself, in a session of its own that ends with the block.

    Within the block it has idle time alone; in the call, as much as anybody.

    The call that is given waits for it, prints what it said and returns its exit code.
    """
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )

        def over() -> int:
            take_part(process.pid)
            code = process.wait()
            said.seek(0)
            sys.stdout.buffer.write(said.read())
            sys.stdout.flush()
            return int(code != 0)

        try:
            yield over
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def give_way() -> None:
    """Let this process and its children have only the processor time that nobody else wants.

    Linux weighs a session against the others before it looks at the processes in it, where it
    groups them at all; so the session's own weight is lowered too.
    """
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text("19")
    else:
        os.nice(19)


def take_part(session: int) -> None:
    """Give the processes of a session their full right to a core, where we may."""
    if not hasattr(os, "SCHED_IDLE"):
        return
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            pid = int(process.name)
            if os.getsid(pid) == session:
                os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
                (process / "autogroup").write_text("0")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
