"""Services name tasks by text; each name they use must be a task that exists."""

from __future__ import annotations

import re
from pathlib import Path

from controlplane.celery import app
from controlplane.runs import tasks

ROOT = Path(__file__).parents[2]


def test_every_enqueued_name_is_a_task() -> None:
    used = {
        name
        for source in (ROOT / "controlplane").rglob("*.py")
        for name in re.findall(r'(?:enqueue|hand)\(\s*"([\w.]+)"', source.read_text())
    }
    assert used == {tasks.execute.name, tasks.carry_slice.name}
    assert used <= set(app.tasks)
