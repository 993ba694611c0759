"""One slice on this machine: between its lead, over the broker, and the process that sends.

Two threads. One hears the lead and answers it at once, so that its questions about the clock are
not kept waiting; the other hears the process, passes on what it says, and sends its samples.
Whatever happens, the process does not outlive this, and nothing is waited for without a deadline.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis.exceptions import RedisError

from controlplane.runs.child import Child, Ended, Garbage
from controlplane.runs.machines.machine_link import Link
from controlplane.runs.machines.member import made_by
from controlplane.runs.machines.voice import Voice
from controlplane.runs.machines.wire import BEAT_S, Message
from loadtest.execution import Start
from loadtest.recorder import SAMPLES

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds, all of them."""

    poll: float = 0.1
    given: float = 20.0
    """From claiming the slice to what it is to send."""
    silence: float = 10.0
    """Between two messages of the process, once it was told to start."""
    stop: float = 3.0
    """From the request to stop to being killed."""
    last_word: float = 5.0
    """From having said all to the lead's letting it go."""


class Relay:
    """``spawn`` starts the process that sends this scenario's slice into ``out``."""

    def __init__(
        self,
        link: Link,
        spawn: Callable[[Mapping[str, Any]], Child],
        out: Path,
        *,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link = link
        self._spawn = spawn
        self._limits = limits or Limits()
        self._clock = clock
        self._given: Mapping[str, Any] | None = None
        self._given_or_over = threading.Event()
        self._over = threading.Event()
        """The lead lets it go, or is gone."""
        self._voice = Voice(link, out / SAMPLES, self._over, clock)
        self._child: Child | None = None
        self._told_to_start = False
        self._stop_at: float | None = None
        self._late = ""
        """Which deadline the process has missed."""

    def run(self, node: str) -> None:
        """From being here to being let go."""
        listening = threading.Thread(target=self._listen, name="lead", daemon=True)
        self._say({"type": "here", "node": node, **made_by()})
        listening.start()
        try:
            self._given_or_over.wait(self._limits.given)
            if self._given is not None and not self._over.is_set():
                self._carry(self._given)
                self._over.wait(self._limits.last_word)
        finally:
            self._over.set()
            if self._child is not None:
                self._child.kill()
                self._child.close()
            listening.join()

    def _carry(self, scenario: Mapping[str, Any]) -> None:
        """Start the process and pass on what it says until it has ended and all is said."""
        try:
            self._child = child = self._spawn(scenario)
        except (OSError, RuntimeError) as error:
            self._say({"type": "error", "message": f"its process did not start: {error}"})
            self._say({"type": "done", "requests": 0, "how": ""})
            return
        how = self._hear_out(child)
        code = child.close()
        self._voice.all_samples(again_after=self._limits.poll)
        how = how or self._late or f"ended with code {code} before it reported"
        self._say({"type": "done", "requests": self._voice.requests, "how": how})

    def _hear_out(self, child: Child) -> str:
        """Until it has closed its output; what it said that is no message."""
        heard_at = self._clock()
        while True:
            try:
                message = child.hear(self._limits.poll)
            except Ended:
                return ""
            except Garbage as garbage:
                child.kill()
                return f"said what is no message: {garbage}"
            if message is not None:
                heard_at = self._clock()
                self._say(message)
            self._voice.some_samples(again_after=self._limits.poll)
            self._look(child, heard_at)

    def _look(self, child: Child, heard_at: float) -> None:
        """Is a word due? Is it silent, or told to stop and late?"""
        now = self._clock()
        if now - self._voice.said_at >= BEAT_S:
            self._say({"type": "beat"})
        if self._told_to_start and now - heard_at > self._limits.silence:
            self._late = f"said nothing for {self._limits.silence:g} s and was killed"
            child.kill()
        elif self._stop_at is not None and now - self._stop_at > self._limits.stop:
            child.kill()

    def _say(self, message: Message) -> None:
        self._voice.say(message, again_after=self._limits.poll)

    def _listen(self) -> None:
        """Hear the lead; when it is gone, or can't be heard, so are we."""
        try:
            while not self._over.is_set():
                self._hear_lead()
                if not self._link.alive():
                    log.warning("the lead is gone: this machine's slice is stopped")
                    return
        finally:
            self._stop(child_too=True)

    def _hear_lead(self) -> None:
        try:
            for message in self._link.hear():
                self._obey(message, self._clock())
        except RedisError as error:
            log.warning("the lead was not heard: %s", error)
            self._over.wait(self._limits.poll)

    def _obey(self, message: Message, at: float) -> None:
        kind = message["type"]
        if kind == "probe":
            reply = {"type": "reply", "id": message["id"], "heard": at}
            self._say({**reply, "answered": self._clock()})
        elif kind == "given":
            self._given = message["scenario"]
            self._given_or_over.set()
        elif kind == "go" and self._child is not None:
            self._told_to_start = True
            self._child.tell(Start(message["monotonic"], message["unix"]).line())
        elif kind == "cancel":
            self._cancel()
        elif kind in ("bye", "kill"):
            self._stop(child_too=kind == "kill")

    def _cancel(self) -> None:
        """It closes what is open and reports; before it was started there is nothing to report."""
        self._stop_at = self._clock()
        if self._child is not None:
            self._child.cancel()
        else:
            self._stop(child_too=False)

    def _stop(self, *, child_too: bool) -> None:
        if child_too:
            self._stop_at = self._stop_at or self._clock()
            if self._child is not None:
                self._child.cancel()
        self._over.set()
        self._given_or_over.set()
