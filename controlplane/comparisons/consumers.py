"""Live frames of a comparison over a WebSocket: a run's consumer that looks elsewhere."""

from __future__ import annotations

from typing import Any

from channels.db import database_sync_to_async

from controlplane.comparisons import watchdog
from controlplane.comparisons.models import Comparison
from controlplane.runs.consumers import NOT_FOUND, NOT_SIGNED_IN, RunConsumer, may_look


class ComparisonConsumer(RunConsumer):
    """One viewer of one comparison."""

    @database_sync_to_async
    def _look_up(self, run_id: object) -> tuple[int, Any]:
        user = self.scope.get("user")
        if user is None or not user.is_authenticated:
            return NOT_SIGNED_IN, None
        comparison = Comparison.objects.filter(pk=run_id).first()
        if comparison is None or not may_look(user.pk, comparison):
            return NOT_FOUND, None
        return 0, watchdog.check(comparison)

    @database_sync_to_async
    def _now(self) -> tuple[int, str]:
        return Comparison.objects.values_list("seq", "status").get(pk=self._run.pk)
