"""Live frames of a rollout over a WebSocket: a run's consumer that looks elsewhere."""

from __future__ import annotations

from typing import Any

from channels.db import database_sync_to_async
from django.utils import timezone

from controlplane.rollouts.models import Rollout
from controlplane.runs.consumers import NOT_FOUND, NOT_SIGNED_IN, RunConsumer, may_look


class RolloutConsumer(RunConsumer):
    """One viewer of one rollout; while it is there, frames are made."""

    @database_sync_to_async
    def _look_up(self, run_id: object) -> tuple[int, Any]:
        user = self.scope.get("user")
        if user is None or not user.is_authenticated:
            return NOT_SIGNED_IN, None
        rollout = Rollout.objects.filter(pk=run_id).first()
        if rollout is None or not may_look(user.pk, rollout):
            return NOT_FOUND, None
        _note(rollout)
        return 0, rollout

    @database_sync_to_async
    def _may_look(self) -> bool:
        """Still signed in, still active, still of the team that owns the rollout."""
        session = self.scope.get("session")
        if session is not None and not session.exists(session.session_key):
            return False
        if not may_look(self.scope["user"].pk, self._run):
            return False
        _note(self._run)
        return True

    @database_sync_to_async
    def _now(self) -> tuple[int, str]:
        return Rollout.objects.values_list("seq", "phase").get(pk=self._run.pk)


def _note(rollout: Any) -> None:
    Rollout.objects.filter(pk=rollout.pk).update(watched_at=timezone.now())
