"""What is kept for error budgets: counts over long times, when somebody reported, how each stands.

Starts are Unix seconds of the gateway's own clock, and whole multiples of the row's ``seconds``.
"""

from __future__ import annotations

from django.db import models

from controlplane.gateways.models.gateway import Gateway


class GatewayCount(models.Model):
    """What became of the requests of a minute, later of an hour, by the SLO that judged them."""

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="+")
    slo = models.CharField(max_length=64)
    start = models.PositiveBigIntegerField()
    seconds = models.PositiveIntegerField()
    data = models.JSONField()

    class Meta:
        ordering = ["start"]
        constraints = [
            models.UniqueConstraint(
                fields=["gateway", "slo", "start", "seconds"], name="gateway_count_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.seconds} s from {self.start} under {self.slo[:12]}"


class GatewayHeard(models.Model):
    """Of how many seconds of a minute, later of an hour, any process has reported."""

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="+")
    start = models.PositiveBigIntegerField()
    seconds = models.PositiveIntegerField()
    heard = models.PositiveIntegerField()

    class Meta:
        ordering = ["start"]
        constraints = [
            models.UniqueConstraint(
                fields=["gateway", "start", "seconds"], name="gateway_heard_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.heard} of {self.seconds} s from {self.start}"


class GatewayBudget(models.Model):
    """How one budget stood when it was last looked at: what is left, how fast it burns.

    ``scope`` says whose: all objectives at once, one of them, or a tenant's with a target of its
    own; ``name`` is the metric's or the tenant's.
    """

    class Scope(models.TextChoices):
        JOINT = "joint"
        OBJECTIVE = "objective"
        TENANT = "tenant"

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="budgets")
    scope = models.CharField(max_length=9, choices=Scope)
    name = models.CharField(max_length=64, blank=True)
    slo = models.CharField(max_length=64)
    target = models.FloatField()
    state = models.CharField(max_length=8)
    since = models.DateTimeField()
    """When it came into this state."""
    at = models.DateTimeField()
    seq = models.PositiveBigIntegerField()
    """The gateway's, under which it was last looked at."""
    data = models.JSONField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["gateway", "scope", "name"], name="gateway_budget_once")
        ]

    def __str__(self) -> str:
        return f"{self.scope} {self.name} of {self.gateway_id}: {self.state}"
