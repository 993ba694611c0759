"""Team-owned rows: endpoints, tenants, SLOs, policies, workloads; versions, and their aliases."""

from __future__ import annotations

from typing import Any, NoReturn, Self, TypeVar

from django.conf import settings
from django.db import models
from django.urls import reverse

from controlplane.ids import uuid7
from controlplane.teams.models import Team

M = TypeVar("M", bound=models.Model)


class ImmutableError(RuntimeError):
    """Someone tried to change a version; a change is a new version."""


class TeamQuerySet(models.QuerySet[M]):
    def for_team(self, team: Team) -> Self:
        """Only what this team owns; a foreign object is as good as absent."""
        return self.filter(team=team)


class VersionQuerySet(models.QuerySet[M]):
    def for_team(self, team: Team) -> Self:
        return self.filter(line__team=team)

    def update(self, **_values: Any) -> NoReturn:
        raise ImmutableError("a version can't be changed; save a new one")

    def delete(self) -> NoReturn:
        raise ImmutableError("a version can't be deleted; delete the whole line of them")


class Owned(models.Model):
    """What all catalogue rows have: a team, a name, a slug unique in the team."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=80)
    slug = models.SlugField(max_length=64)
    description = models.CharField(max_length=400, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["team", "slug"], name="%(class)s_slug_once")]

    def __str__(self) -> str:
        return self.name


class Endpoint(Owned):
    """A target engine. ``sealed_credential`` is written, never shown; see sealing."""

    class Kind(models.TextChoices):
        VLLM = "vllm", "vLLM"
        SGLANG = "sglang", "SGLang"
        LLAMACPP = "llamacpp", "llama.cpp"
        TGI = "tgi", "TGI"
        TRITON = "triton", "Triton"
        DYNAMO = "dynamo", "Dynamo"
        OLLAMA = "ollama", "Ollama"
        OPENAI = "openai", "OpenAI-compatible"
        SIMULATED = "simulated", "Simulated"

    kind = models.CharField(max_length=12, choices=Kind, default=Kind.OPENAI)
    base_url = models.CharField(max_length=400)
    model = models.CharField(max_length=200)
    sealed_credential = models.TextField(blank=True)
    max_rate = models.FloatField(null=True, blank=True)
    max_concurrency = models.PositiveIntegerField(null=True, blank=True)
    max_duration_s = models.PositiveIntegerField(null=True, blank=True)
    probe = models.JSONField(null=True, blank=True)
    probed_at = models.DateTimeField(null=True, blank=True)

    objects = TeamQuerySet["Endpoint"].as_manager()

    def get_absolute_url(self) -> str:
        return reverse("catalogue:endpoint", args=[self.pk])

    @property
    def has_credential(self) -> bool:
        return bool(self.sealed_credential)


class Tenant(Owned):
    """Who traffic belongs to."""

    class Tier(models.TextChoices):
        VIP = "vip"
        NORMAL = "normal"
        BATCH = "batch"

    tier = models.CharField(max_length=8, choices=Tier, default=Tier.NORMAL)
    weight = models.FloatField(default=1.0)
    tokens_per_min = models.PositiveIntegerField(null=True, blank=True)

    objects = TeamQuerySet["Tenant"].as_manager()

    def get_absolute_url(self) -> str:
        return reverse("catalogue:tenant", args=[self.pk])


class Workload(Owned):
    """What is asked; its document is copied into each scenario, so a run keeps its own."""

    document = models.JSONField()
    sha256 = models.CharField(max_length=64)

    objects = TeamQuerySet["Workload"].as_manager()

    def get_absolute_url(self) -> str:
        return reverse("catalogue:workload", args=[self.pk])


class Version(models.Model):
    """One immutable document in a line, numbered from 1 and named by its hash."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    number = models.PositiveIntegerField()
    document = models.JSONField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        abstract = True
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["line", "number"], name="%(class)s_number_once")
        ]

    def __str__(self) -> str:
        return f"v{self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert, once; an update is refused."""
        if not self._state.adding:
            raise ImmutableError("a version can't be changed; save a new one")
        super().save(*args, **kwargs)

    def delete(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise ImmutableError("a version can't be deleted; delete the whole line of them")


class Slo(Owned):
    """A line of SLO documents; the newest version is the one that counts."""

    objects = TeamQuerySet["Slo"].as_manager()

    def get_absolute_url(self) -> str:
        return reverse("catalogue:slo", args=[self.pk])

    @property
    def latest(self) -> SloVersion:
        return self.versions.latest("number")


class SloVersion(Version):
    line = models.ForeignKey(Slo, on_delete=models.CASCADE, related_name="versions")

    objects = VersionQuerySet["SloVersion"].as_manager()


class Policy(Owned):
    """A line of policy documents."""

    objects = TeamQuerySet["Policy"].as_manager()

    class Meta(Owned.Meta):
        verbose_name_plural = "policies"

    def get_absolute_url(self) -> str:
        return reverse("catalogue:policy", args=[self.pk])

    @property
    def latest(self) -> PolicyVersion:
        return self.versions.latest("number")


class PolicyVersion(Version):
    line = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="versions")
    based_on = models.PositiveIntegerField(null=True)
    """Number of the version of the same line that its author began with; None for a first one."""

    objects = VersionQuerySet["PolicyVersion"].as_manager()


class Alias(models.Model):
    """A name that points at one version of a policy and moves: ``stable``, ``canary``, any slug."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    line = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="aliases")
    name = models.SlugField(max_length=64)
    version = models.ForeignKey(PolicyVersion, on_delete=models.CASCADE, related_name="aliases")
    moved_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["line", "name"], name="alias_once")]

    def __str__(self) -> str:
        return self.name


class AliasMove(models.Model):
    """One line of an alias's history; the first has no version to come from."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    alias = models.ForeignKey(Alias, on_delete=models.CASCADE, related_name="moves")
    from_version = models.ForeignKey(
        PolicyVersion, on_delete=models.CASCADE, related_name="+", null=True
    )
    to_version = models.ForeignKey(PolicyVersion, on_delete=models.CASCADE, related_name="+")
    by = models.CharField(max_length=200)
    at = models.DateTimeField()
    reason = models.CharField(max_length=400, blank=True)

    class Meta:
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return f"{self.alias} to {self.to_version}"
