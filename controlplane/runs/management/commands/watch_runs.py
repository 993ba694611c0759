"""`manage.py watch_runs`: the watchdog of everything that nobody supervises: runs and what is built
on them. Each app registers what it looks at; see ``controlplane.sweeping``."""

from __future__ import annotations

import logging
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import OperationalError, connection
from django.utils import timezone

from controlplane import sweeping
from controlplane.runs.watchdog import STALE_AFTER

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Move what has lost its supervisor to lost, and take rollouts a step on."
    requires_system_checks: list[str] = []  # they import every page, and it serves none

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="one pass, then end")
        parser.add_argument("--every", type=float, default=1.0, help="seconds between passes")

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["once"]:
            for name, said in sweeping.passed(timezone.now):
                self.stdout.write(f"{name}: {said}")
            return
        while True:
            time.sleep(self._pass(options["every"]))

    def _pass(self, every: float) -> float:
        """One pass; how long to wait for the next. After an outage heartbeats get time to come."""
        try:
            for name, said in sweeping.passed(timezone.now):
                log.debug("%s: %s", name, said)
        except OperationalError as error:
            log.warning("the database is away, nothing judged: %s", error)
            connection.close()
            return STALE_AFTER.total_seconds()
        return every
