"""A slice of a run on this machine: claimed, carried with its own rules and key, let go."""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from controlplane import egress
from controlplane.catalogue.services.endpoints import credential_of
from controlplane.runs import child
from controlplane.runs.machines import lease
from controlplane.runs.machines.machine_link import MachineLink
from controlplane.runs.machines.relay import Relay
from controlplane.runs.machines.wire import Keys
from controlplane.runs.models import ACTIVE, Run

log = logging.getLogger(__name__)

LEFT_FOR_S = 48 * 3600
"""Seconds after which a slice's directory that nobody writes to is somebody's who died: no run is
longer than a day."""


def carry(run_id: str, token: str, number: int, of: int, *, node: str) -> None:
    """From the task to the slice's end; a task that came twice, or too late, does nothing."""
    link = MachineLink(lease.connected(settings.REDIS_URL), Keys(token), number)
    run = Run.objects.select_related("endpoint").filter(pk=run_id, status__in=ACTIVE).first()
    if run is None or not link.claimed(node):
        log.info("run %s: slice %s/%s is carried elsewhere, or over", run_id, number, of)
        return
    kept = Path(settings.DATA_DIR) / "slices"
    kept.mkdir(parents=True, exist_ok=True)
    _clear(kept, now=time.time())
    with tempfile.TemporaryDirectory(prefix=f"{run_id}-{number}-", dir=kept) as name:
        out = Path(name)

        def spawn(scenario: Mapping[str, Any]) -> child.Child:
            return _spawn(run, scenario, out, part=f"{number}/{of}")

        Relay(link, spawn, out).run(node)


def _clear(kept: Path, *, now: float) -> None:
    """What slices of a machine that died have left; its lead has what was measured."""
    for left in kept.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another slice clears as well, or ends
            if now - left.stat().st_mtime > LEFT_FOR_S:
                shutil.rmtree(left, ignore_errors=True)


def _spawn(run: Run, scenario: Mapping[str, Any], out: Path, *, part: str) -> child.Child:
    """The key comes from the database, sealed, and is opened here; the rules are this machine's."""
    given = out / "given.json"
    given.write_text(json.dumps(scenario))
    key = credential_of(run.endpoint).reveal() if run.endpoint else ""
    call = child.command(given, out, allow=egress.rules().allow)
    return child.Child(
        [*call, "--barrier", "--slice", part],
        environ=child.environment(key),
        errors=out / "worker.log",
        cwd=settings.BASE_DIR,
    )
