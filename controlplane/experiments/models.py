"""A stored play of a source system, and its result, which nothing changes any more."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from controlplane.catalogue.models import TeamQuerySet
from controlplane.ids import uuid7
from controlplane.runs.models import ACTIVE, LIVE, Status
from controlplane.teams.models import Team
from loadtest.reproduce.asked import Asked


class ExperimentQuerySet(TeamQuerySet["Experiment"]):
    def move(self, pk: object, *, to: Status, only_from: frozenset[Status], **values: Any) -> bool:
        """Compare-and-set: True for exactly one of those who ask. Counts as a stored change."""
        waiting = self.filter(pk=pk, status__in=only_from)
        return bool(waiting.update(status=to, seq=F("seq") + 1, **values))

    def stale(self, *, before: datetime) -> ExperimentQuerySet:
        """Those whose supervisor has not been heard of since."""
        return self.filter(status__in=ACTIVE, heartbeat_at__lt=before)

    def unclaimed(self, *, before: datetime) -> ExperimentQuerySet:
        """Those that no worker took, by when they were last sent; waiting, that is their beat."""
        sent_once = Q(heartbeat_at=None, created_at__lt=before)
        return self.filter(sent_once | Q(heartbeat_at__lt=before), status=Status.QUEUED)

    def live(self) -> ExperimentQuerySet:
        return self.filter(status__in=LIVE)

    def with_names(self) -> ExperimentQuerySet:
        """With what a list says, and without the bulky documents."""
        return self.select_related("result", "again_of").defer("result__document")


class Way(models.TextChoices):
    """How a system is played."""

    VIRTUAL = "virtual", _("In virtual time")
    SERVED = "served", _("Over HTTP")
    CONFIGURATION = "configuration", _("From a configuration")


class Experiment(models.Model):
    """One play of one system. ``seq`` counts its stored changes."""

    Status = Status
    Way = Way

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    system = models.CharField(max_length=64)
    seeds = models.PositiveIntegerField()
    reduced = models.BooleanField(default=False)
    way = models.CharField(max_length=16, choices=Way, default=Way.VIRTUAL)
    configuration = models.TextField(blank=True)
    """The source's own configuration, as JSON; empty unless that is what is played."""
    profile = models.CharField(max_length=64, blank=True)
    """Of the engine model that plays a configuration."""
    scale = models.FloatField(null=True, blank=True)
    """How many times shorter than its own a day's hour is played; null: as the system does."""
    again_of = models.ForeignKey(
        "self", on_delete=models.SET_NULL, related_name="repeats", null=True, blank=True
    )
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
    ended_at = models.DateTimeField(null=True, blank=True)
    live = models.JSONField(default=dict, blank=True)
    """``runs`` with a seed so far, ``done`` with a part of the one that goes on, of how many
    (``of``), the ``seconds`` they took, the client's ``version``."""

    objects = ExperimentQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["team", "-created_at"], name="experiment_newest")]
        constraints = [
            models.CheckConstraint(
                name="experiment_configuration",
                condition=Q(way=Way.CONFIGURATION) & ~Q(configuration="") & ~Q(profile="")
                | ~Q(way=Way.CONFIGURATION) & Q(configuration="", profile=""),
            ),
            models.CheckConstraint(
                name="experiment_scale",
                condition=Q(scale=None) | Q(way=Way.VIRTUAL, reduced=False, scale__gte=1),
            ),
        ]

    def __str__(self) -> str:
        return f"experiment {self.short_id} ({self.status})"

    def get_absolute_url(self) -> str:
        return reverse("experiments:detail", args=[self.pk])

    @property
    def short_id(self) -> str:
        """The random end of its id: the front of a UUIDv7 is a time that neighbours share."""
        return self.id.hex[-8:]

    @property
    def asked(self) -> Asked:
        """What is played, for whoever plays it."""
        text = self.configuration or None
        chosen = {"profile": self.profile} if self.profile else {}
        served = self.way == Way.SERVED
        return Asked(self.system, self.reduced, served, text, scale=self.scale, **chosen)

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    @property
    def found(self) -> ExperimentResult | None:
        """Its result, once it has one."""
        return getattr(self, "result", None)


class ExperimentResult(models.Model):
    """Written once, when the play is over; the database refuses to change it."""

    experiment = models.OneToOneField(
        Experiment, on_delete=models.CASCADE, primary_key=True, related_name="result"
    )
    document = models.JSONField()
    """As ``headway reproduce --out`` writes it."""
    sha256 = models.CharField(max_length=64)
    holds = models.BooleanField()
    runs = models.PositiveIntegerField()
    """With a seed, over all laws and cases."""
    seconds = models.FloatField()
    version = models.CharField(max_length=40)

    def __str__(self) -> str:
        return f"result of {self.experiment_id}"
