"""Models and migrations say the same; every task that a service names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import call_command

from controlplane.celery import app


@pytest.mark.django_db
def test_no_model_has_changed_without_its_migration() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.django_db(transaction=True)
def test_the_triggers_can_be_taken_back_and_made_again() -> None:
    for app_label in ("catalogue", "audit"):
        call_command("migrate", app_label, "0001", verbosity=0)
        call_command("migrate", app_label, verbosity=0)
    call_command("migrate", verbosity=0)


def test_every_task_that_is_enqueued_by_name_exists_and_is_not_acknowledged_late() -> None:
    app.loader.import_default_modules()
    used = {
        name
        for source in Path("controlplane").rglob("*.py")
        for name in re.findall(r'enqueue\(\s*"([\w.]+)"', source.read_text())
    }
    assert used
    assert used <= set(app.tasks)
    assert not any(app.tasks[name].acks_late for name in used)
