"""`manage.py verify_audit`: walk every chain; exit 1 when one does not hold."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.audit import services


class Command(BaseCommand):
    help = "Check that no audit entry was changed, removed or put in after the fact."

    def handle(self, **_options: Any) -> None:
        faults = []
        for team_id in services.chains():
            fault = services.verify(team_id)
            if fault:
                faults.append(f"team {team_id}: {fault}")
            self.stdout.write(f"team {team_id}: {fault or 'the whole chain holds'}")
        if faults:
            raise CommandError("the audit log was tampered with: " + "; ".join(faults))
