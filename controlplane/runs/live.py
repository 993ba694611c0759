"""Tell whoever is watching. The database is the truth; this is a hint that may get lost."""

from __future__ import annotations

import json
import logging

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

from controlplane.runs.frames import Frame
from controlplane.runs.models import Run

log = logging.getLogger(__name__)


def group(run_id: object) -> str:
    """The name under which a run's viewers listen."""
    return f"run.{run_id}"


def publish(run: Run, frame: Frame) -> None:
    """One frame to every viewer, encoded once. A broker that is away costs a frame, not the run."""
    message = {
        "type": "run.frame",
        "seq": frame["seq"],
        "status": run.status,
        "text": json.dumps(frame, separators=(",", ":"), allow_nan=False),
    }
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async_to_sync(layer.group_send)(group(run.pk), message)
    except (OSError, ConnectionError) as error:
        log.warning("run %s: frame %s was not published: %s", run.pk, frame["seq"], error)
