"""Tell whoever watches a gateway. Frames are made for viewers alone: nobody there, no work."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import datetime, timedelta
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

from controlplane.gateways import frames
from controlplane.gateways.models import Gateway
from controlplane.runs.live import PATIENCE, group

log = logging.getLogger(__name__)

WATCHED_FOR = timedelta(seconds=40)
"""A viewer's connection says that it is there more often than this."""


def watched(gateway: Gateway, now: datetime) -> bool:
    """Whether somebody looks."""
    return gateway.watched_at is not None and now - gateway.watched_at < WATCHED_FOR


def tell(gateway: Gateway, now: datetime) -> None:
    """One frame to every viewer, of what changed with the newest batch."""
    if not watched(gateway, now):
        return
    frame = frames.build(gateway, since=gateway.seq - 1, now=now)
    message = {
        "type": "run.frame",
        "seq": frame["seq"],
        "mark": f"{frame['verdict']['outcome']} {frame['verdict']['word']}",
        "text": json.dumps(frame, separators=(",", ":"), allow_nan=False),
    }
    try:
        async_to_sync(_send)(group(gateway.pk), message)
    except (OSError, RedisError) as error:
        log.warning("gateway %s: frame %s was not sent: %s", gateway.slug, frame["seq"], error)


async def _send(name: str, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is not None:
        async with asyncio.timeout(PATIENCE):
            await layer.group_send(name, message)
