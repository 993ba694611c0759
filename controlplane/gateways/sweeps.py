"""What is looked at every few seconds."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from controlplane import sweeping
from controlplane.gateways import budgets
from controlplane.gateways.models import Gateway

SILENT_FOR = timedelta(seconds=60)
"""While telemetry comes, it brings the looks with it."""


def look(now: datetime) -> str:
    """Error budgets of gateways that say nothing: silence is no good time either."""
    rows = Gateway.objects.filter(seen_at__isnull=False)
    late = [row for row in rows.select_related("slo_version") if _late(row, now)]
    for row in late:
        with transaction.atomic():
            locked = Gateway.objects.select_for_update().get(pk=row.pk)
            if _late(locked, now):
                budgets.look(locked, now)
    return f"{len(late)} budgets looked at"


def _late(gateway: Gateway, now: datetime) -> bool:
    return budgets.due(gateway, now, after=SILENT_FOR)


sweeping.add("gateways", look)
