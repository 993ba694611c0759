"""What a worker says as it ends is heard, however it falls between two waits of its supervisor."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import pytest

from controlplane.runs.child import Child, Ended

Spawn = Callable[..., Child]


class LateLines:
    """A queue that has nothing yet at the first look, though the worker has spoken and ended."""

    def __init__(self, behind: Any, over: Callable[[], bool]) -> None:
        self._behind = behind
        self._over = over
        self._looked = False

    def put(self, line: bytes | None) -> None:
        self._behind.put(line)

    def get(self, timeout: float) -> bytes | None:
        if not self._looked:
            self._looked = True
            while not self._over():
                pass
            raise queue.Empty
        line: bytes | None = self._behind.get(timeout=timeout)
        return line


def test_a_worker_that_reports_and_ends_between_two_waits_is_heard_out(
    spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = spawn({"type": "ready"}, {"type": "finished", "status": "finished"})
    monkeypatch.setattr(child, "_lines", LateLines(child._lines, child._exited))
    heard = [child.hear(0.02), child.hear(0.02)]
    assert [message and message["type"] for message in heard] == ["ready", "finished"]
    with pytest.raises(Ended):
        child.hear(0.02)
