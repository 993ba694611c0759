"""A comparison of two policy versions, and the blocks that it has closed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from controlplane.catalogue.models import (
    Endpoint,
    PolicyVersion,
    SloVersion,
    TeamQuerySet,
    Workload,
)
from controlplane.ids import uuid7
from controlplane.runs.models import ACTIVE, LIVE, Status
from controlplane.teams.models import Team


class ComparisonQuerySet(TeamQuerySet["Comparison"]):
    def move(self, pk: object, *, to: Status, only_from: frozenset[Status], **values: Any) -> bool:
        """Compare-and-set: True for exactly one of those who ask. Counts as a stored change."""
        waiting = self.filter(pk=pk, status__in=only_from)
        return bool(waiting.update(status=to, seq=F("seq") + 1, **values))

    def stale(self, *, before: datetime) -> ComparisonQuerySet:
        """Those whose supervisor has not been heard of since."""
        return self.filter(status__in=ACTIVE, heartbeat_at__lt=before)

    def unclaimed(self, *, before: datetime) -> ComparisonQuerySet:
        """Those that no worker took, by when they were last sent; waiting, that is their beat."""
        sent_once = Q(heartbeat_at=None, created_at__lt=before)
        return self.filter(sent_once | Q(heartbeat_at__lt=before), status=Status.QUEUED)

    def live(self) -> ComparisonQuerySet:
        return self.filter(status__in=LIVE)

    def with_names(self) -> ComparisonQuerySet:
        """With everything that a list says, and without the bulky report."""
        return self.select_related(
            "baseline_version__line",
            "candidate_version__line",
            "slo_version__line",
            "workload",
            "endpoint",
            "second_endpoint",
            "created_by",
        ).defer("result")


class Comparison(models.Model):
    """One A/B load test. ``seq`` counts its stored changes; a frame carries it."""

    Status = Status

    class Where(models.TextChoices):
        MODEL = "model", _("Engine model")
        ENGINES = "engines", _("Two simulated engines")
        ENDPOINTS = "endpoints", _("Two endpoints")
        SWITCHBACK = "switchback", _("One endpoint, in turn")

    class Outcome(models.TextChoices):
        PASS = "pass", _("Pass")
        HARM = "harm", _("Harm")
        INCONCLUSIVE = "inconclusive", _("Inconclusive")
        INVALID = "invalid", _("Invalid")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    baseline_version = models.ForeignKey(
        PolicyVersion, on_delete=models.PROTECT, related_name="comparisons_as_baseline"
    )
    candidate_version = models.ForeignKey(
        PolicyVersion, on_delete=models.PROTECT, related_name="comparisons_as_candidate"
    )
    slo_version = models.ForeignKey(
        SloVersion, on_delete=models.PROTECT, related_name="comparisons"
    )
    workload = models.ForeignKey(Workload, on_delete=models.PROTECT, related_name="comparisons")
    where = models.CharField(max_length=12, choices=Where)
    endpoint = models.ForeignKey(
        Endpoint, on_delete=models.PROTECT, related_name="comparisons", null=True, blank=True
    )
    second_endpoint = models.ForeignKey(
        Endpoint, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    plan = models.JSONField()
    plan_sha256 = models.CharField(max_length=64)
    request = models.JSONField()
    """The whole order that the worker carries out; it holds no credential."""
    power = models.JSONField(default=list, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="+", null=True
    )
    by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    status = models.CharField(max_length=12, choices=Status, default=Status.QUEUED)
    reason = models.CharField(max_length=500, blank=True)
    seq = models.PositiveIntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    load_started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    live = models.JSONField(default=dict, blank=True)

    outcome = models.CharField(max_length=12, choices=Outcome, blank=True)
    because = models.TextField(blank=True)
    verdict = models.JSONField(null=True, blank=True)
    """The newest verdict: of a comparison that was stopped, how it stood then."""
    result = models.JSONField(null=True, blank=True)

    objects = ComparisonQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["team", "-created_at"], name="comparison_newest"),
            models.Index(
                fields=["heartbeat_at"],
                name="comparison_beating",
                condition=Q(status__in=sorted(ACTIVE)),
            ),
        ]

    def __str__(self) -> str:
        return f"comparison {self.short_id} ({self.status})"

    def get_absolute_url(self) -> str:
        return reverse("comparisons:detail", args=[self.pk])

    @property
    def short_id(self) -> str:
        """The random end of its id: the front of a UUIDv7 is a time that neighbours share."""
        return self.id.hex[-8:]

    @property
    def name(self) -> str:
        """As a heading says it."""
        return (
            f"{self.candidate_version.line.name} {self.candidate_version} against "
            f"{self.baseline_version.line.name} {self.baseline_version}"
        )

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    @property
    def planned(self) -> int:
        """Blocks."""
        return int(self.plan["spec"]["blocks"])

    @property
    def duration_s(self) -> float:
        """Of the schedule; on the engine model these are the model's seconds."""
        slots = 2 if self.where == self.Where.SWITCHBACK else 1
        return self.planned * float(self.request["block_s"]) * slots

    @property
    def elapsed_s(self) -> float:
        """Of the schedule, as last stored."""
        return float(self.live.get("at", 0.0))

    @property
    def endpoints(self) -> list[Endpoint]:
        """Those that answer, in the order of the lanes."""
        return [one for one in (self.endpoint, self.second_endpoint) if one is not None]


class ComparisonBlock(models.Model):
    """One closed block, with both arms' numbers."""

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="blocks")
    index = models.PositiveIntegerField()
    seq = models.PositiveIntegerField()
    data = models.JSONField()
    """As ``measurement.comparison.block.Block`` writes it."""
    arms = models.JSONField()

    class Meta:
        ordering = ["index"]
        constraints = [
            models.UniqueConstraint(fields=["comparison", "index"], name="comparison_block_once")
        ]

    def __str__(self) -> str:
        return f"block {self.index} of {self.comparison_id}"
