"""A gateway as the control plane wants it: lanes, versions, tenants' keys, the canary."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone

from controlplane.catalogue.models import (
    Endpoint,
    Owned,
    PolicyVersion,
    SloVersion,
    TeamQuerySet,
    Tenant,
)
from controlplane.ids import uuid7


class Gateway(Owned):
    """``revision`` counts changes of what it is told, ``seq`` what has changed on its page."""

    active_version = models.ForeignKey(
        PolicyVersion, on_delete=models.PROTECT, related_name="gateways"
    )
    slo_version = models.ForeignKey(
        SloVersion, on_delete=models.PROTECT, related_name="gateways", null=True, blank=True
    )
    shadow_version = models.ForeignKey(
        PolicyVersion, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    canary = models.JSONField(null=True, blank=True)
    """The mapping of a configuration's ``canary``."""
    canary_version = models.ForeignKey(
        PolicyVersion, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    anonymous_tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    tenants: models.ManyToManyField[Tenant, TenantKey] = models.ManyToManyField(
        Tenant, through="TenantKey", related_name="gateways"
    )
    queue = models.JSONField(default=dict, blank=True)
    timeouts = models.JSONField(default=dict, blank=True)
    limits = models.JSONField(default=dict, blank=True)
    revision = models.PositiveBigIntegerField(default=1)
    published_at = models.DateTimeField(default=timezone.now)
    """When the revision was made."""

    seq = models.PositiveBigIntegerField(default=0)
    polled_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    """When its newest telemetry came."""
    heard_index = models.PositiveBigIntegerField(default=0)
    """The newest window's time of which any process has reported."""
    revision_seen = models.PositiveBigIntegerField(null=True, blank=True)
    config_seen = models.CharField(max_length=64, blank=True)
    """Hash of the configuration that it serves by, as it last said."""
    watched_at = models.DateTimeField(null=True, blank=True)
    """When somebody last looked: frames are made for viewers alone."""

    objects = TeamQuerySet["Gateway"].as_manager()

    def get_absolute_url(self) -> str:
        return reverse("gateways:detail", args=[self.pk])

    @property
    def lanes(self) -> dict[str, list[Endpoint]]:
        """The endpoints of each lane, in order."""
        found: dict[str, list[Endpoint]] = {}
        for row in self.lane_rows.select_related("endpoint").order_by("place", "pk"):
            found.setdefault(row.name, []).append(row.endpoint)
        return found


class GatewayLane(models.Model):
    """One engine of a lane."""

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="lane_rows")
    name = models.SlugField(max_length=63)
    place = models.PositiveSmallIntegerField()
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="gateway_lanes")

    class Meta:
        ordering = ["place", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["gateway", "name", "endpoint"], name="lane_member_once")
        ]

    def __str__(self) -> str:
        return f"lane {self.name} of {self.gateway.name}"


class TenantKeyQuerySet(models.QuerySet["TenantKey"]):
    def usable(self) -> TenantKeyQuerySet:
        return self.filter(revoked_at=None)


class TenantKey(models.Model):
    """A key by which a tenant asks a gateway. Only its hash is kept; it is shown once."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="keys")
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="gateway_keys")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="+", null=True
    )
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = TenantKeyQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def revoke_dialog(self) -> str:
        """The id of the dialog that asks before revoking."""
        return f"revoke-{self.pk}"


class CanaryTerm(models.Model):
    """A canary that was set once: by its hash, telemetry says which one a block is of."""

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="terms")
    sha256 = models.CharField(max_length=64)
    document = models.JSONField()
    revision = models.PositiveBigIntegerField()
    """The gateway's at which it was last set."""
    began_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-revision"]
        constraints = [models.UniqueConstraint(fields=["gateway", "sha256"], name="canary_once")]

    def __str__(self) -> str:
        return f"canary {self.sha256[:12]} of {self.gateway_id}"
