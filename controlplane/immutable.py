"""Rows that the database itself refuses to change: a trigger for each kind of database."""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_SQLITE = """CREATE TRIGGER {table}_immutable BEFORE UPDATE ON {table}
BEGIN SELECT RAISE(ABORT, '{table} rows are never changed'); END"""
_POSTGRESQL = """CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '{table} rows are never changed'; END $$;
CREATE TRIGGER {table}_immutable BEFORE UPDATE ON {table}
FOR EACH ROW EXECUTE FUNCTION {table}_refuse()"""
_DROP = {
    "sqlite": "DROP TRIGGER {table}_immutable",
    "postgresql": "DROP TRIGGER {table}_immutable ON {table}; DROP FUNCTION {table}_refuse()",
}
_MAKE = {"sqlite": _SQLITE, "postgresql": _POSTGRESQL}


def immutable(table: str) -> migrations.RunPython:
    """A migration step that makes every UPDATE of the table fail, whoever sends it."""

    def run(statements: dict[str, str], editor: BaseDatabaseSchemaEditor) -> None:
        editor.execute(statements[editor.connection.vendor].format(table=table))

    def make(_apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
        run(_MAKE, editor)

    def drop(_apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
        run(_DROP, editor)

    return migrations.RunPython(make, drop)
