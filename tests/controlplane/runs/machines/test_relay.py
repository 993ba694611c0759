"""A machine's side: it ends with its lead, passes on everything once, and never hangs."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ConnectionError as Away

from controlplane.runs.child import Child
from controlplane.runs.machines.relay import Limits, Relay
from controlplane.runs.machines.voice import MOST_UNREAD
from controlplane.runs.machines.wire import Message

BRISK = Limits(poll=0.02, given=30.0, silence=1.0, stop=0.3, last_word=30.0)
SOON = 10.0
"""Seconds, on a busy machine; what is not ended by its cause would take longer."""
MEASURED = {"type": "measured", "measured": {}}
Spawn = Callable[..., Child]


class FakeLink:
    """The broker, with a lead that a test speaks for."""

    def __init__(self) -> None:
        self.said: list[Message] = []
        self.down: queue.Queue[Message] = queue.Queue()
        self.lives = True
        self.away = 0
        """So many of the next words are not taken."""
        self.unread = 0

    def alive(self) -> bool:
        return self.lives

    def say(self, message: Message) -> None:
        if self.away:
            self.away -= 1
            raise Away("away")
        self.said.append(message)

    def backlog(self) -> int:
        return self.unread

    def hear(self) -> list[Message]:
        try:
            return [self.down.get(timeout=0.02)]
        except queue.Empty:
            return []

    def kinds(self) -> list[str]:
        return [message["type"] for message in self.said if message["type"] != "beat"]


@pytest.fixture
def link() -> FakeLink:
    return FakeLink()


@pytest.fixture
def carried(link: FakeLink, spawn: Spawn, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Start a relay whose process plays these steps; ``join`` says how long it then took."""
    threads = []

    def start(*steps: dict[str, Any]) -> Callable[[], float]:
        relay = Relay(link, lambda _given: spawn(*steps), tmp_path, limits=BRISK)
        thread = threading.Thread(target=relay.run, args=("celery@here",))
        threads.append(thread)
        link.down.put({"type": "given", "scenario": {}})
        thread.start()

        def join() -> float:
            began = time.monotonic()
            thread.join(30)
            assert not thread.is_alive()
            return time.monotonic() - began

        return join

    yield start
    link.lives = False
    for thread in threads:
        thread.join(10)


def until(link: FakeLink, kind: str) -> None:
    deadline = time.monotonic() + 30
    while kind not in link.kinds():
        assert time.monotonic() < deadline, link.said
        time.sleep(0.01)


def test_what_the_process_says_is_passed_on_and_then_all_is_counted(
    link: FakeLink, carried: Any, tmp_path: Path
) -> None:
    lines = b"".join(json.dumps({"index": n}).encode() + b"\n" for n in range(50_000))
    (tmp_path / "samples.jsonl").write_bytes(lines)
    join = carried({"type": "ready"}, MEASURED)
    until(link, "done")
    link.down.put({"type": "bye"})
    assert join() < SOON, "the lead let it go"
    assert b"".join(it["lines"] for it in link.said if it["type"] == "samples") == lines
    assert [kind for kind in link.kinds() if kind != "samples"] == [
        *("here", "ready", "measured", "done")
    ]
    assert link.said[-1]["requests"] == 50_000


def test_a_machine_whose_lead_is_gone_stops_sending(link: FakeLink, carried: Any) -> None:
    join = carried({"type": "ready"}, {"do": "sleep", "seconds": 60})
    until(link, "ready")
    link.lives = False
    assert join() < SOON


def test_a_process_that_hears_no_stop_is_killed(link: FakeLink, carried: Any) -> None:
    join = carried({"do": "deaf"}, {"type": "ready"}, {"do": "hang"})
    until(link, "ready")
    link.down.put({"type": "cancel"})
    until(link, "done")
    assert "ended with code -9" in link.said[-1]["how"]
    link.down.put({"type": "bye"})
    join()


def test_a_process_that_falls_silent_under_load_is_killed(link: FakeLink, carried: Any) -> None:
    join = carried({"type": "ready"}, {"do": "hang"})
    until(link, "ready")
    link.down.put({"type": "go", "monotonic": 1.0, "unix": 1.0})
    until(link, "done")
    assert link.said[-1]["how"] == "said nothing for 1 s and was killed"
    link.down.put({"type": "bye"})
    join()


def test_a_broker_that_is_away_for_a_moment_loses_nothing(link: FakeLink, carried: Any) -> None:
    link.away = 3
    join = carried({"type": "ready"}, {"type": "windows", "at": 1.0}, MEASURED)
    until(link, "done")
    link.down.put({"type": "bye"})
    join()
    assert link.kinds() == ["here", "ready", "windows", "measured", "done"]


def test_samples_wait_in_their_file_while_the_lead_has_much_to_read(
    link: FakeLink, carried: Any, tmp_path: Path
) -> None:
    (tmp_path / "samples.jsonl").write_bytes(b"{}\n" * 10)
    link.unread = MOST_UNREAD
    join = carried({"type": "ready"}, MEASURED)
    until(link, "measured")
    time.sleep(0.1)
    assert "samples" not in link.kinds()
    link.unread = 0
    until(link, "done")
    link.down.put({"type": "bye"})
    join()
    assert link.said[-1]["requests"] == 10
    assert link.kinds()[-2:] == ["samples", "done"]


def test_a_process_that_does_not_start_is_told(link: FakeLink, tmp_path: Path) -> None:
    def no(_given: object) -> Child:
        raise RuntimeError("sealed under key 'k2', which HEADWAY_SEAL_KEY does not list")

    link.down.put({"type": "given", "scenario": {}})
    Relay(link, no, tmp_path, limits=replace(BRISK, last_word=0.0)).run("celery@here")
    assert link.kinds() == ["here", "error", "done"]
    assert "key 'k2'" in link.said[1]["message"]


def test_what_the_lead_asks_of_the_clock_is_answered_from_the_clock(
    link: FakeLink, carried: Any
) -> None:
    join = carried({"type": "ready"}, {"do": "sleep", "seconds": 60})
    until(link, "ready")
    asked = time.monotonic()
    link.down.put({"type": "probe", "id": 7})
    until(link, "reply")
    back = time.monotonic()
    (reply,) = [message for message in link.said if message["type"] == "reply"]
    assert reply["id"] == 7
    assert asked <= reply["heard"] <= reply["answered"] <= back
    link.down.put({"type": "kill"})
    assert join() < SOON
