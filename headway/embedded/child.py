"""One child process: started in a session of its own, ended with everything it started."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Spec:
    """What to start. ``ready`` answers whether it can be used yet; ``stop_after`` is in seconds."""

    name: str
    command: Sequence[str]
    ready: Callable[[], bool] = field(default=lambda: True)
    ready_within: float = 20.0
    stop_after: float = 5.0
    environment: Mapping[str, str] = field(default_factory=dict)


class Child:
    """A running Spec. Its output goes to one log file, the last start's to ``<name>.log.1``."""

    def __init__(self, spec: Spec, *, environment: Mapping[str, str], logs: Path) -> None:
        self.spec = spec
        self.log = logs / f"{spec.name}.log"
        if self.log.exists():
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                list(spec.command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**environment, **spec.environment},
                # Ctrl-C reaches only us, so that children end in order and not all at once.
                start_new_session=True,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
            )

    @property
    def pid(self) -> int:
        """The child's process id, which is also its group's."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def terminate(self) -> None:
        """Ask the child itself to end."""
        if self.exit_code is None:
            self._process.terminate()

    def reap(self, *, within: float) -> None:
        """Wait for the end, then kill what is left of its group, so that nothing outlives it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=within)
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:
            # macOS answers so for a group that holds only a zombie.
            pass
        self._process.wait()

    def last_lines(self, count: int = 8) -> str:
        """The end of its log, for a person who must know why it ended."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-count:])


def _die_with_parent() -> None:
    """If we are killed outright, so is the child: no orphan keeps a port or sends load.

    Not SIGTERM, on which a Celery worker first waits for what it supervises; the database is safe
    against either, and a load process ends when its supervisor's pipe does.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
