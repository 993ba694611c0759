"""Accounts, teams, memberships with a role, API tokens, and failed sign-ins."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q

from controlplane.ids import uuid7


class Role(models.TextChoices):
    """What a member may do, each more than the one before it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    APPROVER = "approver"
    ADMIN = "admin"


class User(AbstractUser):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)


class Team(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=80)
    slug = models.SlugField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    members: models.ManyToManyField[User, Membership] = models.ManyToManyField(
        User, through="Membership", related_name="teams"
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role, default=Role.VIEWER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at"]
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="member_once")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team} ({self.role})"

    @property
    def remove_dialog(self) -> str:
        """The id of the dialog that asks before removing."""
        return f"remove-{self.pk}"


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def for_team(self, team: Team) -> ApiTokenQuerySet:
        return self.filter(team=team)

    def usable(self, now: datetime) -> ApiTokenQuerySet:
        """Neither revoked nor past its end."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)


class ApiToken(models.Model):
    """A secret for a program. Only its hash is kept; ``prefix`` is what lists show."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="tokens")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def revoke_dialog(self) -> str:
        """The id of the dialog that asks before revoking."""
        return f"revoke-{self.pk}"


class SignInFailureQuerySet(models.QuerySet["SignInFailure"]):
    def since(self, when: datetime, *, account: str, address: str) -> SignInFailureQuerySet:
        return self.filter(account=account, address=address, at__gt=when)


class SignInFailure(models.Model):
    """A refused sign-in, kept for as long as it counts against the next."""

    account = models.CharField(max_length=150)
    address = models.CharField(max_length=64)
    at = models.DateTimeField()

    objects = SignInFailureQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["account", "address", "at"], name="failure_recent")]

    def __str__(self) -> str:
        return f"{self.account} from {self.address} at {self.at}"
