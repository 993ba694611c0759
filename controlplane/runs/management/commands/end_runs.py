"""`manage.py end_runs`: cancel what is live before its supervisors end, so that nothing is lost."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

LOOK_EVERY = 0.1


class Command(BaseCommand):
    help = "Cancel every live run and wait until each has written its report."
    requires_system_checks: list[str] = []  # they import every page, and a person waits

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--within", type=float, default=6.0, help="seconds to wait for them")
        parser.add_argument("--by", default="headway up", help="who it is, for the audit log")

    def handle(self, **options: Any) -> None:
        by, reason = options["by"], f"Stopped with {options['by']}, which was told to end."
        supervised = [import_module(name) for name in settings.SUPERVISED]
        stopped = [one for app in supervised for one in app.stop_all(by=by, reason=reason)]
        deadline = time.monotonic() + options["within"]
        while any(app.any_live() for app in supervised) and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY)
        if stopped:
            self.stdout.write(f"{len(stopped)} cancelled; what was measured is kept")
