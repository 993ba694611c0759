"""Many tables in one migration step, and a word to databases that no migration leads on from."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.core.management.base import CommandError
from django.db import connections
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

BEFORE_FIRST = "0001_initial"
"""What each app's first migration was called while columns came and went; now it is 0001_tables."""


class Tables(Operation):
    """``CreateModel`` steps as one.

    Django renders every related model anew for each table that a migration adds, which is most of
    the time that fifty tables take. Here they are added together and rendered once.
    """

    def __init__(self, *steps: Operation) -> None:
        self.steps = steps

    def describe(self) -> str:
        """One line for ``migrate`` and ``showmigrations``."""
        return "; ".join(step.describe() for step in self.steps)

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """All tables; the state renders its models again when it is next asked for one."""
        state.__dict__.pop("apps", None)
        for step in self.steps:
            step.state_forwards(app_label, state)

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """In the order given."""
        for step in self.steps:
            step.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """The last one first."""
        for step in reversed(self.steps):
            step.database_backwards(app_label, schema_editor, from_state, to_state)


def refuse_older(*, using: str, **_signal: Any) -> None:
    """Before any migration: a database of an unreleased version is left as it is.

    Raises CommandError with what to do; its tables would otherwise be "already there".
    """
    ours = {app.label for app in apps.get_app_configs() if app.name.startswith("controlplane.")}
    for label, name in MigrationRecorder(connections[using]).applied_migrations():
        if label in ours and name == BEFORE_FIRST:
            raise CommandError(
                "this database was made by an unreleased version of Headway, and nothing leads "
                "on from there; give another one (--data-dir for headway up, else DATABASE_URL)"
            )
