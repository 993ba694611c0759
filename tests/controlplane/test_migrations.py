"""Models and migrations say the same; every task that a service names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from controlplane.celery import app
from controlplane.tables import BEFORE_FIRST


@pytest.mark.django_db
def test_no_model_has_changed_without_its_migration() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.django_db(transaction=True)
def test_triggers_and_tables_can_be_taken_back_and_made_again() -> None:
    for app_label, to in (("catalogue", "0001"), ("audit", "0001"), ("gateways", "zero")):
        call_command("migrate", app_label, to, verbosity=0)
        call_command("migrate", app_label, verbosity=0)
    call_command("migrate", verbosity=0)


@pytest.mark.django_db
def test_a_database_of_an_unreleased_version_is_refused_with_what_to_do() -> None:
    MigrationRecorder(connection).record_applied("catalogue", BEFORE_FIRST)
    with pytest.raises(CommandError, match=r"unreleased version of Headway.*--data-dir"):
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
