"""What people said of a change point."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from controlplane.ids import uuid7
from controlplane.runs.models import Run
from controlplane.teams.models import Team


class AcknowledgementQuerySet(models.QuerySet["Acknowledgement"]):
    def for_team(self, team: Team) -> AcknowledgementQuerySet:
        return self.filter(run__team=team)


class Acknowledgement(models.Model):
    """Somebody has looked at the change of a metric whose first run this is, and says why."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="acknowledgements")
    metric = models.CharField(max_length=24)
    note = models.CharField(max_length=500)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="+", null=True
    )

    objects = AcknowledgementQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["run", "metric"], name="change_acknowledged_once")
        ]

    def __str__(self) -> str:
        return f"{self.metric} at {self.run.short_id}: {self.note}"
