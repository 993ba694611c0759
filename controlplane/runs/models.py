"""A run, the windows and decisions it measured, and the rows that its page draws."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.catalogue.models import (
    Endpoint,
    PolicyVersion,
    SloVersion,
    TeamQuerySet,
    Workload,
)
from controlplane.ids import uuid7
from controlplane.teams.models import Team


class Status(models.TextChoices):
    """Where a run stands; only a compare-and-set moves it."""

    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    CANCELLING = "cancelling", _("Cancelling")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")
    LOST = "lost", _("Lost")


ACTIVE = frozenset({Status.RUNNING, Status.CANCELLING})
"""Someone should be supervising it."""
LIVE = ACTIVE | {Status.QUEUED}
"""It has not ended."""


class RunQuerySet(TeamQuerySet["Run"]):
    def move(
        self, run_id: object, *, to: Status, only_from: frozenset[Status], **values: Any
    ) -> bool:
        """Compare-and-set: True for exactly one of those who ask. Counts as a stored change."""
        waiting = self.filter(pk=run_id, status__in=only_from)
        return bool(waiting.update(status=to, seq=F("seq") + 1, **values))

    def stale(self, *, before: datetime) -> RunQuerySet:
        """Runs whose supervisor has not been heard of since."""
        return self.filter(status__in=ACTIVE, heartbeat_at__lt=before)

    def unclaimed(self, *, before: datetime) -> RunQuerySet:
        """Runs that no worker took, by when they were last sent; waiting, that is their beat."""
        sent_once = Q(heartbeat_at=None, created_at__lt=before)
        return self.filter(sent_once | Q(heartbeat_at__lt=before), status=Status.QUEUED)

    def live(self) -> RunQuerySet:
        return self.filter(status__in=LIVE)

    def judged(self) -> RunQuerySet:
        """Runs with a verdict: they came to their end, and had objectives or proved invalid."""
        ended = self.filter(status=Status.DONE).exclude(verdict="")
        return ended.exclude(slo_version=None, verdict="pass")

    def with_names(self) -> RunQuerySet:
        """With everything that a list says about a run, and without its bulky report."""
        return self.select_related(
            "endpoint", "policy_version__line", "slo_version__line", "workload", "created_by"
        ).defer("summary")


class Run(models.Model):
    """One execution of a scenario. ``seq`` counts its stored changes; a frame carries it."""

    Status = Status

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    endpoint = models.ForeignKey(
        Endpoint, on_delete=models.PROTECT, related_name="runs", null=True, blank=True
    )
    profile = models.CharField(max_length=100, blank=True)
    """Of the engine model, where that answered and no endpoint did."""
    policy_version = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, related_name="runs")
    shadow_version = models.ForeignKey(
        PolicyVersion,
        on_delete=models.PROTECT,
        related_name="shadow_runs",
        null=True,
        blank=True,
    )
    slo_version = models.ForeignKey(
        SloVersion, on_delete=models.PROTECT, related_name="runs", null=True, blank=True
    )
    workload = models.ForeignKey(Workload, on_delete=models.PROTECT, related_name="runs")
    retry_of = models.ForeignKey(
        "self", on_delete=models.SET_NULL, related_name="retries", null=True, blank=True
    )
    scenario = models.JSONField()
    scenario_sha256 = models.CharField(max_length=64)
    seed = models.PositiveBigIntegerField()
    workers = models.PositiveSmallIntegerField(default=1)
    machines = models.PositiveSmallIntegerField(default=1)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="+", null=True
    )
    created_at = models.DateTimeField(auto_now_add=True)

    status = models.CharField(max_length=12, choices=Status, default=Status.QUEUED)
    reason = models.CharField(max_length=500, blank=True)
    seq = models.PositiveIntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    load_started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    live = models.JSONField(default=dict, blank=True)

    verdict = models.CharField(max_length=12, blank=True)
    because = models.TextField(blank=True)
    judgement = models.JSONField(null=True, blank=True)
    summary = models.JSONField(null=True, blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(endpoint=None) ^ Q(profile=""), name="run_endpoint_or_profile"
            )
        ]
        indexes = [
            models.Index(fields=["team", "-created_at"], name="run_newest"),
            models.Index(
                fields=["heartbeat_at"], name="run_beating", condition=Q(status__in=sorted(ACTIVE))
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.short_id} ({self.status})"

    def get_absolute_url(self) -> str:
        return reverse("runs:detail", args=[self.pk])

    @property
    def short_id(self) -> str:
        """The random end of its id: the front of a UUIDv7 is a time that neighbours share."""
        return self.id.hex[-8:]

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    @property
    def host(self) -> str:
        """Where its policy ran: on the engine model, or in a load test."""
        return "model" if self.profile else "load_test"

    @property
    def target_name(self) -> str:
        """Who answered, as a list or a heading says it; a model is never called an endpoint."""
        if self.endpoint is None:
            return gettext("engine model %(profile)s") % {"profile": self.profile}
        return self.endpoint.name

    @property
    def final_verdict(self) -> str:
        """What it ended with; a run that was stopped has none, whatever its report says so far."""
        return self.verdict if self.status == Status.DONE else ""

    @property
    def duration_s(self) -> float:
        return float(self.scenario["duration_s"])

    @property
    def warm_up_s(self) -> float:
        """Where warm-up ends: as it was cut, once that is known; until then as it was asked."""
        cut = (self.summary or {}).get("cut") or {}
        return float(cut.get("warm_up_s", self.scenario.get("warm_up_s", 0.0)))

    @property
    def elapsed_s(self) -> float:
        """Seconds of load so far, as last stored; 0 before it starts. On the engine model these
        are the model's seconds."""
        if self.profile:
            return min(float(self.live.get("at", 0.0)), self.duration_s)
        until = self.ended_at or self.heartbeat_at
        if self.load_started_at is None or until is None:
            return 0.0
        elapsed = max(until - self.load_started_at, timedelta()).total_seconds()
        return min(elapsed, self.duration_s)


class RunWindow(models.Model):
    """One second of a run. A revision replaces the one before it, under the run's next seq."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="windows")
    index = models.PositiveIntegerField()
    revision = models.PositiveIntegerField()
    seq = models.PositiveIntegerField()
    final = models.BooleanField()
    data = models.JSONField()

    class Meta:
        ordering = ["index"]
        constraints = [models.UniqueConstraint(fields=["run", "index"], name="window_once")]

    def __str__(self) -> str:
        return f"window {self.index} of {self.run_id}, revision {self.revision}"


class RunDecision(models.Model):
    """One line of the controller trace: the policy's, or its shadow's, each numbered from 0."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="decisions")
    shadow = models.BooleanField(default=False)
    n = models.PositiveIntegerField()
    seq = models.PositiveIntegerField()
    data = models.JSONField()

    class Meta:
        ordering = ["n"]
        constraints = [models.UniqueConstraint(fields=["run", "shadow", "n"], name="decision_once")]

    def __str__(self) -> str:
        return f"decision {self.n} of {self.run_id}"


class RunRow(models.Model):
    """One row of a page's table, rolled up from windows once, however many people look."""

    class Table(models.TextChoices):
        EVENTS = "events"
        COHORTS = "cohorts"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="rows")
    table = models.CharField(max_length=8, choices=Table)
    at = models.PositiveIntegerField()
    seq = models.PositiveIntegerField()
    values = models.JSONField()

    class Meta:
        ordering = ["at"]
        constraints = [models.UniqueConstraint(fields=["run", "table", "at"], name="row_once")]

    def __str__(self) -> str:
        return f"{self.table} row at {self.at} s of {self.run_id}"
