"""A gate, its immutable versions, and each run of it with what it came to."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from controlplane.catalogue.models import Owned, TeamQuerySet, Version, VersionQuerySet
from controlplane.runs.models import LIVE, Run
from controlplane.teams.models import Team


class Gate(Owned):
    """A line of gate documents; a run of the gate takes the newest."""

    objects = TeamQuerySet["Gate"].as_manager()

    def get_absolute_url(self) -> str:
        return reverse("gates:detail", args=[self.pk])

    @property
    def latest(self) -> GateVersion:
        return self.versions.latest("number")


class GateVersion(Version):
    line = models.ForeignKey(Gate, on_delete=models.CASCADE, related_name="versions")

    objects = VersionQuerySet["GateVersion"].as_manager()


class GateRunQuerySet(models.QuerySet["GateRun"]):
    def for_team(self, team: Team) -> GateRunQuerySet:
        return self.filter(run__team=team)

    def ended(self) -> GateRunQuerySet:
        return self.exclude(run__status__in=LIVE)

    def with_names(self) -> GateRunQuerySet:
        """With what a list says about each; the run's report is bulky and stays behind."""
        return self.select_related(
            "version__line",
            "run__endpoint",
            "run__workload",
            "run__policy_version__line",
            "run__slo_version__line",
            "run__created_by",
        ).defer("run__summary")


class GateRun(models.Model):
    """One call of a gate. It has the run's id; ``outcome`` is empty until the run was judged."""

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="gate_run"
    )
    version = models.ForeignKey(GateVersion, on_delete=models.CASCADE, related_name="runs")
    overrides = models.JSONField(default=dict)
    outcome = models.CharField(max_length=16, blank=True)
    because = models.TextField(blank=True)
    thresholds = models.JSONField(default=list)

    objects = GateRunQuerySet.as_manager()

    class Meta:
        ordering = ["-run_id"]

    def __str__(self) -> str:
        return f"gate run {self.run.short_id}"

    @property
    def gate(self) -> Gate:
        return self.version.line
