"""A rollout, and the runs of its stages with their evidence."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from controlplane.catalogue.models import PolicyVersion, SloVersion, TeamQuerySet, Workload
from controlplane.comparisons.models import Comparison
from controlplane.gateways.models import Gateway
from controlplane.ids import uuid7
from controlplane.rollouts import machine
from controlplane.rollouts.plan import RolloutPlan
from controlplane.teams.models import Team


class Phase(models.TextChoices):
    """``machine.Phase`` with words for people."""

    DRAFT = machine.Phase.DRAFT.value, _("Draft")
    WAITING = machine.Phase.WAITING.value, _("Waiting")
    RUNNING = machine.Phase.RUNNING.value, _("Running")
    HELD = machine.Phase.HELD.value, _("Held")
    DONE = machine.Phase.DONE.value, _("Done")
    ROLLED_BACK = machine.Phase.ROLLED_BACK.value, _("Rolled back")
    ABORTED = machine.Phase.ABORTED.value, _("Aborted")


LIVE = sorted(phase.value for phase in machine.LIVE)


class RolloutQuerySet(TeamQuerySet["Rollout"]):
    def live(self) -> RolloutQuerySet:
        return self.filter(phase__in=LIVE)

    def with_names(self) -> RolloutQuerySet:
        """With everything that a page says about a rollout."""
        return self.select_related(
            "team",
            "gateway",
            "baseline_version__line",
            "candidate_version__line",
            "slo_version__line",
            "workload",
            "created_by",
            "edited_by",
            "retry_of",
        )


class Rollout(models.Model):
    """``seq`` counts its stored changes; a frame carries it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    gateway = models.ForeignKey(Gateway, on_delete=models.PROTECT, related_name="rollouts")
    baseline_version = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, related_name="+")
    candidate_version = models.ForeignKey(
        PolicyVersion, on_delete=models.PROTECT, related_name="rollouts"
    )
    slo_version = models.ForeignKey(SloVersion, on_delete=models.PROTECT, related_name="+")
    workload = models.ForeignKey(Workload, on_delete=models.PROTECT, related_name="+", null=True)
    plan = models.JSONField()
    plan_sha256 = models.CharField(max_length=64)
    seed = models.PositiveBigIntegerField()
    power = models.JSONField(default=list)
    """What its canaries can find, as the plan stands."""
    retry_of = models.ForeignKey(
        "self", on_delete=models.SET_NULL, related_name="retries", null=True, blank=True
    )
    number = models.PositiveIntegerField(default=1)
    """1, and one more for each retry."""

    phase = models.CharField(max_length=12, choices=Phase, default=Phase.DRAFT)
    stage = models.PositiveIntegerField(default=0)
    attempt = models.PositiveIntegerField(default=1)
    kept = models.BooleanField(default=False)
    because = models.TextField(blank=True)
    seq = models.PositiveIntegerField(default=0)

    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="+", null=True
    )
    edited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="+", null=True
    )
    created_at = models.DateTimeField(auto_now_add=True)
    edited_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    phase_since = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    watched_at = models.DateTimeField(null=True, blank=True)
    """When somebody last looked: frames are made for viewers alone."""

    objects = RolloutQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["gateway"], condition=Q(phase__in=LIVE), name="rollout_one_a_gateway"
            )
        ]

    def __str__(self) -> str:
        return f"rollout {self.short_id} ({self.phase})"

    def get_absolute_url(self) -> str:
        return reverse("rollouts:detail", args=[self.pk])

    @property
    def short_id(self) -> str:
        """The random end of its id: the front of a UUIDv7 is a time that neighbours share."""
        return self.id.hex[-8:]

    @property
    def document(self) -> RolloutPlan:
        """The plan, parsed."""
        return RolloutPlan.parse(self.plan)

    @property
    def standing(self) -> machine.Standing:
        """Where it stands, as the machine sees it."""
        needed = tuple(stage["approvals"] for stage in self.plan["spec"]["stages"])
        phase = machine.Phase(self.phase)
        return machine.Standing(needed, phase, self.stage, self.attempt, self.kept)

    @property
    def status(self) -> str:
        """Its phase, by the name that a run's live frames know."""
        return self.phase

    @property
    def is_live(self) -> bool:
        return machine.Phase(self.phase) in machine.LIVE

    @property
    def is_open(self) -> bool:
        return machine.Phase(self.phase) in machine.OPEN

    @property
    def title(self) -> str:
        """``steady v3 → v4``, or both names where the lines differ."""
        before, after = self.baseline_version, self.candidate_version
        if before.line_id == after.line_id:
            return f"{after.line.name} {before} → {after}"
        return f"{before.line.name} {before} → {after.line.name} {after}"


class StageRun(models.Model):
    """One attempt at one stage. ``evidence`` is what its verdict can be made again from.

    ``seen`` counts what the last look rested on (blocks of a comparison), so that a look at the
    same blocks is no second look.
    """

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="stage_runs")
    index = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField()
    kind = models.CharField(max_length=12)
    comparison = models.ForeignKey(
        Comparison, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    setting = models.JSONField(default=dict)
    """What the stage was begun with: a canary's seed, start and slots; a gateway's revision."""
    seen = models.IntegerField(default=-1)
    finding = models.CharField(max_length=12, default=machine.Finding.GOING.value)
    because = models.TextField(blank=True)
    evidence = models.JSONField(default=dict)
    accepted = models.JSONField(default=dict)
    """Criteria too rare for their blocks, by name, and who passed them."""
    entered_at = models.DateTimeField()
    looked_at = models.DateTimeField(null=True, blank=True)
    awake_since = models.DateTimeField(null=True, blank=True)
    """When looks began again after an outage of ours."""
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["index", "attempt"]
        constraints = [
            models.UniqueConstraint(fields=["rollout", "index", "attempt"], name="stage_run_once")
        ]

    def __str__(self) -> str:
        return f"stage {self.index}, attempt {self.attempt} of {self.rollout_id}"
