"""Live frames of a gateway: relayed as a run's are."""

from __future__ import annotations

from typing import Any

from channels.db import database_sync_to_async
from django.utils import timezone

from controlplane.gateways.models import Gateway
from controlplane.runs.consumers import NOT_FOUND, NOT_SIGNED_IN, RunConsumer
from controlplane.teams.models import Membership, Role
from controlplane.teams.rights import RIGHTS, Right


class GatewayConsumer(RunConsumer):
    """One viewer of one gateway; while it is there, frames are made."""

    @database_sync_to_async
    def _look_up(self, run_id: object) -> tuple[int, Any]:
        user = self.scope.get("user")
        if user is None or not user.is_authenticated:
            return NOT_SIGNED_IN, None
        gateway = Gateway.objects.filter(pk=run_id).first()
        if gateway is None or not _may_look(user.pk, gateway):
            return NOT_FOUND, None
        _note(gateway)
        return 0, gateway

    @database_sync_to_async
    def _may_look(self) -> bool:
        """Still signed in, still active, still of the team that owns the gateway."""
        session = self.scope.get("session")
        if session is not None and not session.exists(session.session_key):
            return False
        gateway: Any = self._run
        if not _may_look(self.scope["user"].pk, gateway):
            return False
        _note(gateway)
        return True

    @database_sync_to_async
    def _now(self) -> tuple[int, str]:
        return Gateway.objects.values_list("seq", flat=True).get(pk=self._run.pk), "running"


def _note(gateway: Gateway) -> None:
    Gateway.objects.filter(pk=gateway.pk).update(watched_at=timezone.now())


def _may_look(user_id: object, gateway: Gateway) -> bool:
    member = Membership.objects.filter(
        user_id=user_id, team_id=gateway.team_id, user__is_active=True
    ).first()
    return member is not None and Right.READ in RIGHTS[Role(member.role)]
