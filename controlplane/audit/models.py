"""An entry is written once; each carries the hash of the one before it in its team's chain."""

from __future__ import annotations

from typing import Any, NoReturn

from django.db import models

from controlplane.ids import uuid7


class AppendOnlyError(RuntimeError):
    """Someone tried to change what may only be added to."""


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    def of_team(self, team_id: object) -> AuditQuerySet:
        return self.filter(team_id=team_id).order_by("sequence")

    def update(self, **_values: Any) -> NoReturn:
        raise AppendOnlyError("audit entries can't be changed")

    def delete(self) -> NoReturn:
        raise AppendOnlyError("audit entries can't be deleted")


class AuditEntry(models.Model):
    """Who did what to which object; digests name its document before and after."""

    class Outcome(models.TextChoices):
        DONE = "done"
        DENIED = "denied"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team_id = models.UUIDField()
    sequence = models.PositiveBigIntegerField()
    at = models.DateTimeField()
    actor = models.CharField(max_length=200)
    verb = models.CharField(max_length=64)
    outcome = models.CharField(max_length=8, choices=Outcome, default=Outcome.DONE)
    object_kind = models.CharField(max_length=64)
    object_id = models.CharField(max_length=64, blank=True)
    object_name = models.CharField(max_length=200, blank=True)
    before = models.CharField(max_length=64, blank=True)
    after = models.CharField(max_length=64, blank=True)
    detail = models.JSONField(default=dict)
    previous = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ["-at", "-sequence"]
        constraints = [
            models.UniqueConstraint(fields=["team_id", "sequence"], name="audit_sequence_once")
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.verb} {self.object_kind} {self.object_name}"

    def delete(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise AppendOnlyError("audit entries can't be deleted")


class AuditHead(models.Model):
    """Where a team's chain ends; its row is the lock that keeps the chain in one line."""

    team_id = models.UUIDField(primary_key=True)
    length = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.length} entries of {self.team_id}"
