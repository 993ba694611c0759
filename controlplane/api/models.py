"""Answers kept for a while, so that a repeated request gets the first one's."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from controlplane.ids import uuid7
from controlplane.teams.models import Team


class IdempotencyKey(models.Model):
    """One request under a caller's key; ``status`` stays null while the first one runs."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    body = models.JSONField(null=True, blank=True)
    location = models.CharField(max_length=400, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "user", "key"], name="idempotency_key_once")
        ]

    def __str__(self) -> str:
        return self.key
