"""What gateways have said: processes, windows, blocks, decisions, shadows, faults.

All times in floats are Unix seconds of the gateway's own clock.
"""

from __future__ import annotations

from django.db import models

from controlplane.gateways.models.gateway import Gateway

STEP = 5
"""Seconds in a window that is kept."""


class GatewayStream(models.Model):
    """A numbered stream of batches, and up to where all of it is stored."""

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="streams")
    stream = models.CharField(max_length=64)
    acknowledged = models.PositiveBigIntegerField(default=0)
    heard_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["gateway", "stream"], name="stream_once")]

    def __str__(self) -> str:
        return f"stream {self.stream} up to {self.acknowledged}"


class GatewayProcess(models.Model):
    """One boot of one gateway process, as its newest batch has it."""

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="processes")
    boot = models.CharField(max_length=64)
    since = models.FloatField()
    at = models.FloatField()
    heard_at = models.DateTimeField()
    ended = models.BooleanField(default=False)
    """Its last batch said that it is the last."""
    revision = models.PositiveBigIntegerField()
    config_sha256 = models.CharField(max_length=64)
    enforced = models.JSONField(default=list)
    lanes = models.JSONField(default=list)
    dropped = models.PositiveBigIntegerField(default=0)

    class Meta:
        ordering = ["-heard_at"]
        constraints = [models.UniqueConstraint(fields=["gateway", "boot"], name="process_once")]

    def __str__(self) -> str:
        return f"process {self.boot} at revision {self.revision}"


class Measured(models.Model):
    """Whose numbers a window holds: an arm's and a policy's, as one process saw them."""

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="+")
    boot = models.CharField(max_length=64)
    arm = models.CharField(max_length=9)
    policy = models.CharField(max_length=64)
    slo = models.CharField(max_length=64, blank=True)
    index = models.PositiveBigIntegerField()
    """Counts windows of its width from 1970."""
    data = models.JSONField()

    class Meta:
        abstract = True


class GatewaySecond(Measured):
    """A second of one tenant as it was sent; it goes once nothing can revise it any more."""

    tenant = models.CharField(max_length=64)
    revision = models.PositiveIntegerField()
    final = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["gateway", "boot", "index", "arm", "policy", "slo", "tenant"],
                name="gateway_second_once",
            )
        ]

    def __str__(self) -> str:
        return f"second {self.index} of {self.tenant}"


class GatewayWindow(Measured):
    """Several seconds and all tenants of them in one, changed last under the gateway's ``seq``."""

    seq = models.PositiveBigIntegerField()
    offered = models.PositiveBigIntegerField()
    closed = models.BooleanField(default=False)

    class Meta:
        ordering = ["index"]
        constraints = [
            models.UniqueConstraint(
                fields=["gateway", "boot", "index", "arm", "policy", "slo"],
                name="gateway_window_once",
            )
        ]
        indexes = [
            models.Index(fields=["gateway", "index"], name="gateway_window_time"),
            models.Index(fields=["gateway", "seq"], name="gateway_window_seq"),
        ]

    def __str__(self) -> str:
        return f"window {self.index} of {self.arm}"


class GatewayGauge(models.Model):
    """How a lane stood in a window's time, as one process saw it: the most, and the last limit."""

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="+")
    boot = models.CharField(max_length=64)
    lane = models.CharField(max_length=63)
    index = models.PositiveBigIntegerField()
    seq = models.PositiveBigIntegerField()
    limit = models.PositiveIntegerField()
    in_flight = models.PositiveIntegerField()
    waiting = models.PositiveIntegerField()

    class Meta:
        ordering = ["index"]
        constraints = [
            models.UniqueConstraint(
                fields=["gateway", "index", "lane", "boot"], name="gateway_gauge_once"
            )
        ]

    def __str__(self) -> str:
        return f"lane {self.lane} at {self.index}"


class GatewayBlock(models.Model):
    """One arm on one lane in one block of a canary, as one process counted it."""

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="blocks")
    boot = models.CharField(max_length=64)
    canary = models.CharField(max_length=64)
    block = models.PositiveIntegerField()
    lane = models.CharField(max_length=63)
    arm = models.CharField(max_length=9)
    policy = models.CharField(max_length=64)
    revision = models.PositiveIntegerField()
    engines = models.JSONField(default=list)
    """Fingerprints of the lane's engines when the block was first heard of."""
    data = models.JSONField()

    class Meta:
        ordering = ["block"]
        constraints = [
            models.UniqueConstraint(
                fields=["gateway", "canary", "block", "boot", "lane", "policy"],
                name="gateway_block_once",
            )
        ]

    def __str__(self) -> str:
        return f"block {self.block} of the {self.arm} on {self.lane}"


class GatewayPresence(models.Model):
    """That a process ran a canary's block, and has said so: without it a block is a gap."""

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="+")
    boot = models.CharField(max_length=64)
    canary = models.CharField(max_length=64)
    block = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["gateway", "canary", "block", "boot"], name="gateway_presence_once"
            )
        ]

    def __str__(self) -> str:
        return f"process {self.boot} in block {self.block}"


class GatewayDecision(models.Model):
    """One line of a lane's trace; a shadow's was obeyed by nobody."""

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="decisions")
    lane = models.CharField(max_length=63)
    shadow = models.BooleanField()
    at = models.FloatField()
    seq = models.PositiveBigIntegerField()
    data = models.JSONField()

    class Meta:
        ordering = ["at", "pk"]
        indexes = [models.Index(fields=["gateway", "seq"], name="gateway_decision_seq")]

    def __str__(self) -> str:
        return f"decision at {self.at} on {self.lane}"


class GatewayShadow(models.Model):
    """The newest report of a shadow, by process and lane."""

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="shadows")
    boot = models.CharField(max_length=64)
    lane = models.CharField(max_length=63)
    policy = models.CharField(max_length=64)
    since = models.FloatField()
    at = models.FloatField()
    report = models.JSONField()
    deciding_seconds = models.FloatField()
    fault = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["gateway", "boot", "lane", "policy"], name="gateway_shadow_once"
            )
        ]

    def __str__(self) -> str:
        return f"shadow {self.policy[:12]} on {self.lane}"


class GatewayFault(models.Model):
    """A configuration that a process refused, and why."""

    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="faults")
    boot = models.CharField(max_length=64)
    at = models.FloatField()
    heard_at = models.DateTimeField()
    code = models.CharField(max_length=64)
    problems = models.JSONField()

    class Meta:
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"{self.code} at {self.at}"
