"""The audit log is a chain: what was written stays, and tampering shows."""

from __future__ import annotations

import uuid

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from controlplane.audit import services
from controlplane.audit.models import AppendOnlyError, AuditEntry, AuditHead

TEAM = uuid.uuid4()
pytestmark = pytest.mark.django_db


def write(count: int, team: uuid.UUID = TEAM) -> list[AuditEntry]:
    return [
        services.record(
            team_id=team,
            actor="ada",
            verb="change_tenant",
            kind="tenant",
            name=f"t{n}",
            before={"weight": n},
            after={"weight": n + 1},
            detail={"note": "ünïcode"},
        )
        for n in range(count)
    ]


def meddle(sql: str, *values: object) -> None:
    """Change a row as someone with the database would, past the trigger."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER IF EXISTS audit_auditentry_immutable")
        else:
            cursor.execute("DROP TRIGGER IF EXISTS audit_auditentry_immutable ON audit_auditentry")
        cursor.execute(sql, values)


def test_entries_follow_each_other_and_the_chain_holds() -> None:
    first, second = write(2)
    assert (first.sequence, first.previous) == (1, "")
    assert (second.sequence, second.previous) == (2, first.hash)
    assert services.verify(TEAM) is None


def test_digests_name_the_documents_not_their_text() -> None:
    (entry,) = write(1)
    assert len(entry.before) == len(entry.after) == 64
    assert entry.before != entry.after


def test_each_team_has_a_chain_of_its_own() -> None:
    other = uuid.uuid4()
    write(2)
    (entry,) = write(1, other)
    assert entry.sequence == 1
    assert set(services.chains()) == {TEAM, other}


def test_an_entry_rolled_back_with_its_change_leaves_no_gap() -> None:
    write(1)
    with transaction.atomic():
        write(1)
        transaction.set_rollback(True)
    write(1)
    assert services.verify(TEAM) is None
    assert AuditEntry.objects.of_team(TEAM).count() == 2


def test_the_model_refuses_update_and_delete() -> None:
    (entry,) = write(1)
    for change in (
        lambda: AuditEntry.objects.all().update(actor="eve"),
        lambda: AuditEntry.objects.all().delete(),
        entry.delete,
    ):
        with pytest.raises(AppendOnlyError):
            change()


def test_the_database_refuses_an_update_whoever_sends_it() -> None:
    write(1)
    sql = "UPDATE audit_auditentry SET actor = 'eve'"
    refused = pytest.raises(DatabaseError, match="never changed")
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE audit_auditentry SET actor = 'eve' WHERE sequence = 2", "entry 2 was changed"),
        ("DELETE FROM audit_auditentry WHERE sequence = 2", "entry 2 is missing"),
        ("DELETE FROM audit_auditentry WHERE sequence = 1", "entry 1 is missing"),
        ("DELETE FROM audit_auditentry WHERE sequence = 3", "entries after 2 are missing"),
    ],
)
def test_tampering_is_found_where_it_happened(sql: str, told: str) -> None:
    write(3)
    meddle(sql)
    fault = services.verify(TEAM)
    assert fault is not None
    assert fault.startswith(told)
    with pytest.raises(CommandError, match="tampered"):
        call_command("verify_audit")


def test_an_entry_written_anew_with_a_fitting_hash_breaks_the_next() -> None:
    entries = write(3)
    forged = entries[1]
    forged.actor = "eve"
    meddle(
        "UPDATE audit_auditentry SET actor = 'eve', hash = %s WHERE sequence = 2",
        services.digest(forged),
    )
    assert services.verify(TEAM) == "entry 3 does not follow the one before it"


def test_verify_says_that_a_whole_chain_holds(capsys: pytest.CaptureFixture[str]) -> None:
    write(2)
    call_command("verify_audit")
    assert "the whole chain holds" in capsys.readouterr().out
    assert AuditHead.objects.get().length == 2


@pytest.mark.parametrize("field", ["actor", "verb", "name"])
def test_a_text_longer_than_its_column_is_kept_whole_in_the_detail(field: str) -> None:
    said = {"actor": "ada", "verb": "PUT", "name": "x"} | {field: "y" * 900}
    entry = services.record(team_id=TEAM, kind="api", **said)
    column = {"name": "object_name"}.get(field, field)
    entry.clean_fields(exclude=["previous"])
    assert entry.detail["in_full"] == {column: "y" * 900}
    assert services.verify(TEAM) is None
