"""Lead and machines in one process, over a real Valkey, with the real processes that send."""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from controlplane.runs.child import Child, command, environment
from controlplane.runs.machines import lease
from controlplane.runs.machines.lead import listening
from controlplane.runs.machines.machine_link import MachineLink
from controlplane.runs.machines.relay import Relay
from controlplane.runs.machines.wire import Keys
from engines.egress import EgressRules
from loadtest.conclusion import Conclusion
from loadtest.crew import lead
from loadtest.execution import Order, execute
from loadtest.facts import Facts
from loadtest.machine_clock import MOST_OFF
from loadtest.news import News
from loadtest.recorder import read_samples, read_windows
from loadtest.scenario import Scenario
from measurement.window import roll_up
from tests.engines.raw_server import RawServer
from tests.loadtest.test_crew import answer, scenario

NODES = ["celery@one", "celery@two"]


class Watching:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.news_heard: list[News] = []
        self.began = asyncio.Event()

    def started(self, scenario: Scenario, facts: Facts) -> None:
        self.began.set()

    def news(self, news: News) -> None:
        self.news_heard.append(news)

    def concluded(self, conclusion: Conclusion) -> None:
        pass


class Machines:
    """Two machines, each a thread with the relay that its Celery task would run."""

    def __init__(self, url: str, out: Path) -> None:
        self.keys = Keys(secrets.token_hex(8))
        self.client = lease.connected(url)
        self.children: dict[int, Child] = {}
        self.threads = [threading.Thread(target=self._carry, args=(n, out)) for n in (0, 1)]
        lease.take(self.client, self.keys)

    def _carry(self, number: int, kept: Path) -> None:
        out = kept / f"machine-{number}"
        out.mkdir()
        link = MachineLink(self.client, self.keys, number)
        assert link.claimed(NODES[number])
        assert not MachineLink(self.client, self.keys, number).claimed("celery@three")

        def spawn(given: Mapping[str, Any]) -> Child:
            file = out / "given.json"
            file.write_text(json.dumps(given))
            call = command(file, out, allow=["127.0.0.0/8"])
            call += ["--barrier", "--slice", f"{number}/2"]
            self.children[number] = Child(
                call, environ=environment(""), errors=out / "log", cwd=Path.cwd()
            )
            return self.children[number]

        Relay(link, spawn, out).run(NODES[number])


@contextmanager
def machines(url: str, out: Path) -> Iterator[Machines]:
    """They are gone afterwards, and so are their keys."""
    found = Machines(url, out)
    for thread in found.threads:
        thread.start()
    yield found
    for thread in found.threads:
        thread.join(15)
        assert not thread.is_alive(), "a machine that nobody leads must end"
    assert found.client.keys("headway:crew:*:[!c]*") == []
    found.client.close()


async def led(
    given: dict[str, Any], found: Machines, url: str, out: Path, seen: Watching, stop: asyncio.Event
) -> Conclusion:
    order = Order(Scenario.parse(given), out, EgressRules.loopback())
    with lease.held(found.client, found.keys, 2):
        async with listening(url, found.keys, NODES) as crew:
            return await lead(order, crew, seen, stop)


async def break_connections(found: Machines, seen: Watching) -> int:
    """Under load, every connection to the broker but the one that asks for it; how many."""
    await seen.began.wait()
    await asyncio.sleep(1.5)
    killed = found.client.client_kill_filter(_type="normal", skipme=True)
    return int(killed)


def test_a_machine_knows_its_lead_by_the_lease_alone(valkey_server: str) -> None:
    keys = Keys(secrets.token_hex(8))
    client = lease.connected(valkey_server)
    link = MachineLink(client, keys, 0)
    assert not link.claimed("celery@one")
    lease.take(client, keys)
    assert link.alive()
    assert link.claimed("celery@one")
    assert not link.claimed("celery@one")
    with lease.held(client, keys, 1):
        assert link.alive()
    assert not link.alive()
    assert client.keys(f"headway:crew:{keys.token}:*") == []
    client.close()


async def test_one_worker_and_two_machines_send_the_same_requests(
    valkey_server: str, tmp_path: Path
) -> None:
    bodies, alone, shared = [], tmp_path / "alone", tmp_path / "shared"
    alone.mkdir()
    shared.mkdir()
    async with RawServer(answer) as server:
        order = Order(Scenario.parse(scenario(server.port)), alone, EgressRules.loopback())
        await execute(order, Watching(), asyncio.Event())
        bodies.append(sorted(asked.body for asked in server.asked))
    async with RawServer(answer) as server:
        with machines(valkey_server, tmp_path) as found:
            seen = Watching()
            broken = asyncio.ensure_future(break_connections(found, seen))
            conclusion = await led(
                scenario(server.port), found, valkey_server, shared, seen, asyncio.Event()
            )
            assert await broken >= 3, "a connection that breaks must lose nothing"
        bodies.append(sorted(asked.body for asked in server.asked))
    assert bodies[0] == bodies[1]
    assert len(bodies[0]) > 20
    one, two = (
        sorted((s.index, s.intended_at, s.tenant) for s in read_samples(out))
        for out in (alone, shared)
    )
    assert one == two
    (window,) = roll_up(read_windows(shared), 3_600.0, ended=True)
    assert (window.cohort.offered, window.cohort.pending) == (len(one), 0)
    assert conclusion.seen.lost == ()
    assert (conclusion.facts.machines, conclusion.facts.workers) == (2, 2)
    for row, node in zip(conclusion.seen.workers, NODES, strict=True):
        assert row["machine"] == node
        # One machine, one clock: what is read of it must be true of it.
        assert abs(row["clock"]["offset_ms"]) <= row["clock"]["uncertainty_ms"]
        assert row["clock"]["off_by_at_most_ms"] <= 1e3 * MOST_OFF
