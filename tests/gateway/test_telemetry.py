"""Telemetry: nothing is lost in an outage, nothing counts twice, and the buffer has a bound."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engines.egress import EgressRules
from engines.transport.httptools_stream import HttptoolsTransport
from gateway.attached import AttachedGateway, Attachment
from gateway.clock import SteadyClock
from gateway.control_plane import ControlPlane
from gateway.server import ServerOptions
from gateway.spool import Spool
from gateway.telemetry import Telemetry
from measurement.window import Window
from tests.engines.raw_server import RawServer, replying, stream
from tests.gateway.fake_control_plane import TOKEN, FakeControlPlane
from tests.gateway.serving import AUTH, CHAT, Gateway, config, document, gateway, lane, policy, slo
from tests.gateway.waiting import within
from tests.simulator.serving import connected

ANSWER = stream(
    b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n',
    b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n',
    b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\n',
    b"data: [DONE]\n\n",
)
OLD, NEW = policy("old"), policy("new", limit=4)


@dataclass
class Stage:
    server: Gateway
    fake: FakeControlPlane
    plane: ControlPlane
    telemetry: Telemetry
    spool: Spool

    async def ask(self, times: int) -> None:
        async with connected(self.server) as client:
            for _ in range(times):
                answer = await client.ask("POST", "/v1/chat/completions", CHAT, extra=AUTH)
                assert answer.status == 200
        await within(1, lambda: self.server.at_rest)

    async def send_all(self) -> None:
        while await self.telemetry.send(self.plane):
            pass


@asynccontextmanager
async def stage(
    folder: Path, fake: FakeControlPlane | None = None, *, bound: int = 2**20, **changed: Any
) -> AsyncIterator[Stage]:
    fake = fake or FakeControlPlane(None)
    transport = HttptoolsTransport(EgressRules.open())
    async with RawServer(replying(ANSWER, keep=True)) as engine, RawServer(fake) as api:
        changed.setdefault("lanes", [lane("p", engine.url)])
        for part in changed["lanes"]:
            for endpoint in part["endpoints"]:
                endpoint["base_url"] = engine.url
        async with gateway(config(slo=slo(ttft_ms=5000), **changed)) as server:
            spool = Spool(folder, bound=bound)
            plane = ControlPlane(api.url, "edge", TOKEN, transport)
            telemetry = Telemetry(server.books, server.router, spool, server.clock)
            yield Stage(server, fake, plane, telemetry, spool)
        await transport.close()


async def test_windows_say_what_was_served_and_by_which_policy(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        await it.ask(7)
        it.telemetry.collect(last=True)
        await it.send_all()
        (batch,) = it.fake.batches.values()
    assert batch["kind"] == "GatewayTelemetry"
    assert (batch["gateway"], batch["sequence"], batch["revision"]) == ("edge", 1, 1)
    assert batch["config_sha256"] == it.server.config.sha256
    assert {(e["arm"], e["tenant"], e["policy"]) for e in batch["windows"]} == {
        ("active", "acme", it.server.config.active)
    }
    windows = [Window.from_json(entry["window"]) for entry in batch["windows"]]
    assert sum(window.cohort.offered for window in windows) == 7
    assert sum(window.cohort.met for window in windows) == 7
    assert sum(window.events.tokens for window in windows) == 7
    assert all(abs(window.start - batch["at"]) < 60 for window in windows)
    (row,) = batch["lanes"]
    assert (row["lane"], row["limit"], row["in_flight"]) == ("p", 8, 0)


async def test_an_outage_is_caught_up_in_order_and_exactly_once(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        it.fake.up = False
        for _ in range(5):
            await it.ask(3)
            it.telemetry.collect()
            assert not await it.telemetry.send(it.plane)
        assert it.telemetry.failures == 5
        it.telemetry.collect(last=True)
        it.fake.up, it.fake.lose_answers = True, True
        assert not await it.telemetry.send(it.plane)
        assert not await it.telemetry.send(it.plane)
        it.fake.lose_answers = False
        await it.send_all()
    assert it.fake.arrived[0] == it.fake.arrived[1]
    assert it.fake.sequences == [1, 2, 3, 4, 5, 6]
    assert len(it.spool) == 0
    windows = it.fake.windows().values()
    assert sum(window["cohort"]["offered"] for window in windows) == 15
    assert Counter(o for w in windows for o in w["cohort"]["outcomes"]) == {"ok": len(windows)}
    assert sum(n for w in windows for n in w["cohort"]["outcomes"].values()) == 15


async def test_a_restart_goes_on_in_the_same_stream_with_the_next_number(tmp_path: Path) -> None:
    fake = FakeControlPlane(None)
    fake.up = False
    async with stage(tmp_path, fake) as it:
        await it.ask(2)
        it.telemetry.collect(last=True)
    async with stage(tmp_path, fake) as it:
        assert len(it.spool) == 1
        await it.ask(2)
        it.telemetry.collect(last=True)
        fake.up = True
        await it.send_all()
    async with stage(tmp_path, fake) as it:
        it.telemetry.collect()
        await it.send_all()
    assert fake.sequences == [1, 2, 3]
    assert len({stream for stream, _ in fake.batches}) == 1
    assert len({batch["boot"] for batch in fake.batches.values()}) == 3
    assert sum(window["cohort"]["offered"] for window in fake.windows().values()) == 4


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.json"))


async def test_the_buffer_is_bounded_drops_the_oldest_and_says_so(tmp_path: Path) -> None:
    async with stage(tmp_path, bound=5000) as it:
        for _ in range(30):
            it.telemetry.collect()
        assert size_of(tmp_path) <= 5000
        assert it.spool.dropped > 0
        dropped = it.spool.dropped
        it.telemetry.collect()
        await it.send_all()
    assert it.fake.sequences == list(range(it.fake.sequences[0], 32))
    assert list(it.fake.batches.values())[-1]["dropped"] == dropped


async def test_a_batch_that_is_refused_for_good_does_not_stand_in_the_way(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        it.telemetry.collect()
        it.telemetry.collect()
        it.fake.status = 422
        assert await it.telemetry.send(it.plane)
        for status in (401, 429, 500):
            it.fake.status = status
            assert not await it.telemetry.send(it.plane)
        it.fake.status = 200
        await it.send_all()
    assert it.fake.sequences == [2]
    assert it.spool.dropped == 1


async def test_each_block_counts_each_arm_once(tmp_path: Path) -> None:
    canary = {"candidate": NEW.sha256, "seed": 3, "starts_at": 0.0, "blocks": 100_000}
    canary |= {"slot_s": 86_400.0, "lanes": ["p", "q"]}
    lanes = [lane("p", "http://127.0.0.1:9"), lane("q", "http://127.0.0.1:9")]
    async with stage(tmp_path, lanes=lanes, policies=(OLD, NEW), canary=canary) as it:
        await it.ask(20)
        it.telemetry.collect()
        await it.ask(20)
        it.telemetry.collect(last=True)
        await it.send_all()
    newest: dict[tuple[int, str], dict[str, Any]] = {}
    for batch in it.fake.batches.values():
        for count in batch["blocks"]:
            newest[count["block"], count["lane"]] = count
    assert sum(count["offered"] for count in newest.values()) == 40
    assert {count["arm"] for count in newest.values()} == {"baseline", "candidate"}
    policies = {count["arm"]: count["policy"] for count in newest.values()}
    assert policies == {"baseline": OLD.sha256, "candidate": NEW.sha256}
    assert all(c["met"] == c["offered"] and not c["pending"] for c in newest.values())


async def test_an_idle_tenant_is_forgotten_and_sends_no_windows(tmp_path: Path) -> None:
    now = [1_000_000.0]
    async with (
        RawServer(replying(ANSWER, keep=True)) as engine,
        gateway(config(engine.url), clock=lambda: now[0]) as server,
    ):
        async with connected(server) as client:
            await client.ask("POST", "/v1/chat/completions", CHAT, extra=AUTH)
        await within(1, lambda: server.at_rest)
        given = []
        for _ in range(60):
            now[0] += 1.0
            given += server.books.changed(now[0])
        assert len(given) == 1
        assert server.books.accounts == {}


def test_a_file_that_vanished_is_skipped_and_counted(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for number in (1, 2):
        assert spool.add(b"{}") == number
    (tmp_path / "0000000001.json").unlink()
    assert spool.first() == (2, b"{}")
    assert spool.dropped == 1


async def test_all_of_it_together_through_an_outage(tmp_path: Path) -> None:
    async with RawServer(replying(ANSWER, keep=True)) as engine:
        fake = FakeControlPlane(document(engine.url))
        async with RawServer(fake) as api:
            attachment = Attachment(api.url, "edge", TOKEN, tmp_path)
            attached = AttachedGateway(attachment, ServerOptions(), SteadyClock())
            server = await attached.start()
            async with connected(server) as client:  # type: ignore[arg-type]
                for up in (True, False, True):
                    fake.up = up
                    for _ in range(4):
                        await client.ask("POST", "/v1/chat/completions", CHAT, extra=AUTH)
                        await asyncio.sleep(0.25)
                metrics = (await client.ask("GET", "/metrics")).body.decode()
            await attached.stop()
        assert "headway_gateway_telemetry_pending" in metrics
        assert sum(w["cohort"]["offered"] for w in fake.windows().values()) == 12
        assert sum(w["cohort"]["pending"] for w in fake.windows().values()) == 0
        fake.up = False
        again = AttachedGateway(attachment, ServerOptions(), SteadyClock())
        server = await again.start()
        async with connected(server) as client:  # type: ignore[arg-type]
            answer = await client.ask("POST", "/v1/chat/completions", CHAT, extra=AUTH)
        assert answer.status == 200
        await again.stop()
    kept = json.loads((tmp_path / "config.json").read_text())
    assert kept["document"]["gateway"] == "edge"
