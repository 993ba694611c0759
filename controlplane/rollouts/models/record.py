"""What people and time left beside a rollout: approvals, what happened, and freeze windows."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from controlplane.catalogue.models import TeamQuerySet
from controlplane.ids import uuid7
from controlplane.rollouts.models.rollout import Rollout
from controlplane.teams.models import Team


class ApprovalQuerySet(models.QuerySet["Approval"]):
    def holding(self, rollout: Rollout, binding: str, now: datetime) -> ApprovalQuerySet:
        """Those given for this stage and attempt, on what would be applied now, not expired."""
        return self.filter(
            rollout=rollout,
            stage=rollout.stage,
            attempt=rollout.attempt,
            binding=binding,
            voided_at=None,
            expires_at__gt=now,
        )


class Approval(models.Model):
    """One person's word for one stage, bound to the hash of plan and versions."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="approvals")
    stage = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    binding = models.CharField(max_length=64)
    comment = models.TextField(blank=True)
    at = models.DateTimeField()
    expires_at = models.DateTimeField()
    voided_at = models.DateTimeField(null=True, blank=True)

    objects = ApprovalQuerySet.as_manager()

    class Meta:
        ordering = ["at"]
        constraints = [
            models.UniqueConstraint(
                fields=["rollout", "stage", "attempt", "user"],
                condition=Q(voided_at=None),
                name="approval_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.user} for stage {self.stage} of {self.rollout_id}"


class RolloutEvent(models.Model):
    """One line of what happened, in order; written with the change that it tells of."""

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveIntegerField()
    at = models.DateTimeField()
    verb = models.CharField(max_length=32)
    by = models.CharField(max_length=200)
    text = models.TextField()

    class Meta:
        ordering = ["-seq"]
        constraints = [
            models.UniqueConstraint(fields=["rollout", "seq"], name="rollout_event_once")
        ]

    def __str__(self) -> str:
        return f"{self.verb} of {self.rollout_id} by {self.by}"


class FreezeQuerySet(TeamQuerySet["FreezeWindow"]):
    def open_at(self, now: datetime) -> FreezeQuerySet:
        return self.filter(starts_at__lte=now, ends_at__gt=now)

    def not_over(self, now: datetime) -> FreezeQuerySet:
        return self.filter(ends_at__gt=now)


class FreezeWindow(models.Model):
    """A time in which no rollout of the team is promoted. Rollbacks never wait for it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.CharField(max_length=200)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="+", null=True
    )

    objects = FreezeQuerySet.as_manager()

    class Meta:
        ordering = ["starts_at"]

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d %H:%M} to {self.ends_at:%Y-%m-%d %H:%M} UTC"

    @property
    def remove_dialog(self) -> str:
        """The id of the dialog that asks before removing it."""
        return f"thaw-{self.pk}"
