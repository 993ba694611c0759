"""`manage.py watch_runs`: keep an eye on runs, and whatever else settings.SWEEPS names."""

from __future__ import annotations

import logging
import time
from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import OperationalError, connection

from controlplane.runs.watchdog import STALE_AFTER, Swept

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Move runs whose supervisor is gone to lost, and say which runs no worker takes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="one pass, then end")
        parser.add_argument("--every", type=float, default=2.0, help="seconds between passes")

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["once"]:
            swept = sweep_all()
            self.stdout.write(f"{swept.lost} lost, {swept.unclaimed} waiting for a worker")
            return
        while True:
            time.sleep(self._pass(options["every"]))

    def _pass(self, every: float) -> float:
        """One pass; how long to wait for the next. After an outage heartbeats get time to come."""
        try:
            sweep_all()
        except OperationalError as error:
            log.warning("the database is away, nothing judged: %s", error)
            connection.close()
            return STALE_AFTER.total_seconds()
        return every


def sweep_all() -> Swept:
    """One pass of every sweep."""
    found = [import_module(name).sweep() for name in settings.SWEEPS]
    return Swept(lost=sum(one.lost for one in found), unclaimed=sum(one.unclaimed for one in found))
