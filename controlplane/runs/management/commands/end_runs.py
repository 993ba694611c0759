"""`manage.py end_runs`: cancel what is live before its supervisors end, so that nothing is lost."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from controlplane.runs import services
from controlplane.runs.models import Run

LOOK_EVERY = 0.1


class Command(BaseCommand):
    help = "Cancel every live run and wait until each has written its report."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--within", type=float, default=6.0, help="seconds to wait for them")
        parser.add_argument("--by", default="headway up", help="who it is, for the audit log")

    def handle(self, **options: Any) -> None:
        stopped = services.stop_all(
            by=options["by"], reason=f"Stopped with {options['by']}, which was told to end."
        )
        deadline = time.monotonic() + options["within"]
        while Run.objects.live().exists() and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY)
        if stopped:
            self.stdout.write(f"{len(stopped)} cancelled; what was measured is kept")
