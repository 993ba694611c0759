"""Services name tasks by text; each name they use must be a task that exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from controlplane import queue
from controlplane.celery import app
from controlplane.runs import tasks

ROOT = Path(__file__).parents[2]


def test_what_is_handed_to_one_machine_is_not_thrown_away_for_its_wall_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An expiry would be a moment of the sender's: a machine an hour ahead would lose its slice."""
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(app, "send_task", lambda *_, **how: sent.append(how))
    monkeypatch.setattr(queue, "app", app)
    queue.hand(tasks.carry_slice.name, "run", "token", 0, 2, node="celery@b")
    [how] = sent
    assert how["queue"].routing_key == "celery@b"
    assert not {"expires", "eta", "countdown"} & set(how)


def test_every_enqueued_name_is_a_task() -> None:
    used = {
        name
        for source in (ROOT / "controlplane").rglob("*.py")
        for name in re.findall(r'(?:enqueue|hand)\(\s*"([\w.]+)"', source.read_text())
    }
    assert used == {tasks.execute.name, tasks.carry_slice.name}
    assert used <= set(app.tasks)
