"""What a machine says to its lead: each thing once, and samples only as fast as they are read."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from redis.exceptions import RedisError

from controlplane.runs.machines.machine_link import Link
from controlplane.runs.machines.wire import LINES, Message
from loadtest.crew_desk import Copy

log = logging.getLogger(__name__)

BLOCK = 256 * 1024
"""Bytes of samples in one message, before they are compressed."""
AT_A_TURN = 4
"""Blocks that are sent before the process is heard again: 10 MB a second at least."""
MOST_UNREAD = 64
"""Messages that the lead may leave unread before samples wait in their file: with BLOCK that
bounds what a machine holds in the broker. What is there after that is a message a second until the
lead's lease has lapsed."""


class Voice:
    """``over`` is set when nobody is there to be told any more."""

    def __init__(
        self, link: Link, samples: Path, over: threading.Event, clock: Callable[[], float]
    ) -> None:
        self._link = link
        self._copy = Copy(samples, BLOCK)
        self._over = over
        self._clock = clock
        self.said_at = clock()
        self.requests = 0
        """Samples that were sent."""

    def say(self, message: Message, *, again_after: float) -> None:
        """Until the broker has it, or the lead is gone: nothing may be missing between."""
        while not self._over.is_set():
            try:
                self._link.say(message)
            except RedisError as error:
                log.warning("not said yet: %s", error)
                self._over.wait(again_after)
            else:
                self.said_at = self._clock()
                return

    def some_samples(self, *, again_after: float) -> None:
        """What there is, but not much at once."""
        for _block in range(AT_A_TURN):
            if not self._one_block(again_after):
                return

    def all_samples(self, *, again_after: float) -> None:
        """What there is, once nobody writes any more."""
        while not self._over.is_set() and self._one_block(again_after):
            pass

    def _one_block(self, again_after: float) -> bool:
        """Unless the lead has much to read: then wait a little. Whether there may be more."""
        try:
            full = self._link.backlog() >= MOST_UNREAD
        except RedisError as error:
            log.warning("the backlog is not known: %s", error)
            full = True
        if full:
            self._over.wait(again_after)
            return True
        block = self._copy.more()
        if block:
            self.requests += block.count(b"\n")
            self.say({"type": "samples", LINES: block}, again_after=again_after)
        return bool(block)
