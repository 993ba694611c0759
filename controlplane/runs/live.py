"""Tell whoever is watching. The database is the truth; this is a hint that may get lost."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

from controlplane.runs.frames import Frame
from controlplane.runs.models import Run

log = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds that the broker has to take a frame."""


def group(run_id: object) -> str:
    """The name under which a run's viewers listen."""
    return f"run.{run_id}"


def publish(run: Run, frame: Frame) -> None:
    """One frame to every viewer, encoded once. A broker that is away costs a frame, not the run.

    ``mark`` is what a viewer must not miss a change of.
    """
    message = {
        "type": "run.frame",
        "seq": frame["seq"],
        "mark": f"{run.status} {frame['verdict']['outcome']}",
        "text": json.dumps(frame, separators=(",", ":"), allow_nan=False),
    }
    try:
        async_to_sync(_send)(group(run.pk), message)
    except (OSError, RedisError) as error:
        log.warning("run %s: frame %s was not published: %s", run.pk, frame["seq"], error)


async def _send(name: str, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is not None:
        async with asyncio.timeout(PATIENCE):
            await layer.group_send(name, message)
