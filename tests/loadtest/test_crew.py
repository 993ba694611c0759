"""One run by several workers: the same requests, one report, and an honest one when one is lost."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from documents.problem import DocumentError
from loadtest import crew_rules
from loadtest.recorder import parts, read_samples, read_windows
from loadtest.scenario import Scenario
from loadtest.schedule import Slice
from measurement.window import roll_up
from tests.engines.raw_server import Asked, RawServer, Wire
from tests.loadtest.test_scenario import POLICY, document

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


async def answer(asked: Asked, wire: Wire) -> None:
    """One token at once."""
    await wire.send(HEAD, b"%x\r\n%s\r\n0\r\n\r\n" % (len(CHUNK), CHUNK))
    wire.keep = True


def scenario(port: int, **changes: Any) -> dict[str, Any]:
    endpoint = {"base_url": f"http://127.0.0.1:{port}", "model": "m", "kind": "openai"}
    workload = {"kind": "synthetic", "prompt_tokens_mean": 12, "prompt_tokens_sigma": 0.5}
    arrivals = {"process": "gamma", "rate": 40, "burstiness": 0.5}
    given = {"endpoint": endpoint, "workload": workload, "arrivals": arrivals, "policy": None}
    return document(**{**given, "duration_s": 1, "slo": None, "prompt_salt": "same", **changes})


class Leader:
    """The worker process that leads the others, and what it says."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.messages: list[dict[str, Any]] = []

    async def start(self, given: dict[str, Any], workers: int) -> None:
        self.out.mkdir()
        file = self.out / "given.json"
        file.write_text(json.dumps(given))
        words = ["--scenario", str(file), "--out", str(self.out), "--egress", "loopback"]
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "loadtest.worker", *words, "--workers", str(workers)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 24,
        )

    async def until(self, kind: str) -> dict[str, Any]:
        while line := await self._line():
            self.messages.append(json.loads(line))
            if self.messages[-1]["type"] == kind:
                return self.messages[-1]
        pytest.fail(f"ended before {kind}: {self.messages}")

    async def _line(self) -> bytes:
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            return await self.process.stdout.readline()

    def children(self) -> list[int]:
        pid = self.process.pid
        return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def run(given: dict[str, Any], workers: int, out: Path) -> dict[str, Any]:
    leader = Leader(out)
    await leader.start(given, workers)
    finished = await leader.until("finished")
    async with asyncio.timeout(20):
        assert await leader.process.wait() == 0
    started = next(message for message in leader.messages if message["type"] == "started")
    assert started["offered"] == finished["summary"]["offered"]
    summary: dict[str, Any] = finished["summary"]
    return summary


async def test_one_and_several_workers_send_the_same_requests(tmp_path: Path) -> None:
    bodies: dict[int, list[bytes]] = {}
    whole: dict[int, dict[str, Any]] = {}
    for workers in (1, 2):
        async with RawServer(answer) as server:
            whole[workers] = await run(scenario(server.port), workers, tmp_path / str(workers))
            bodies[workers] = sorted(asked.body for asked in server.asked)
    assert bodies[1] == bodies[2]
    assert len(bodies[1]) > 20
    one, two = (
        sorted((s.index, s.intended_at, s.tenant) for s in read_samples(tmp_path / str(workers)))
        for workers in (1, 2)
    )
    assert one == two
    assert [index for index, *_ in one] == list(range(len(one)))
    assert whole[2]["outcomes"] == whole[1]["outcomes"] == {"ok": len(one)}
    assert whole[2]["client"]["workers"] == 2
    assert whole[2]["client"]["transport"] in ("kernel", "protocol")
    assert [row["lost"] for row in whole[2]["client"]["by_worker"]] == ["", ""]
    (window,) = roll_up(read_windows(tmp_path / "2"), 3_600.0, ended=True)
    assert (window.cohort.offered, window.cohort.pending) == (len(one), 0)
    assert parts(tmp_path / "2") == []


async def test_a_lost_worker_leaves_a_partial_result_that_says_so(tmp_path: Path) -> None:
    async with RawServer(answer) as server:
        leader = Leader(tmp_path / "run")
        await leader.start(scenario(server.port, duration_s=3), 2)
        await leader.until("windows")
        os.kill(leader.children()[0], signal.SIGKILL)
        told = leader.messages[-1]
        assert all(row["cpu_share"] is not None for row in told["totals"]["by_worker"])
        while told["verdict"]["outcome"] != "invalid":
            told = await leader.until("windows")
        assert told["at"] < 2.5, "told as it happens, not at the end"
        assert "Worker 1 of 2 was killed by signal 9" in told["verdict"]["because"]
        summary = (await leader.until("finished"))["summary"]
        async with asyncio.timeout(20):
            assert await leader.process.wait() == 0
    assert summary["verdict"] == "invalid"
    assert "Worker 1 of 2 was killed by signal 9" in summary["validity"]["reasons"][0]
    assert any("Worker 1 of 2" in note for note in summary["notes"])
    samples = list(read_samples(tmp_path / "run"))
    assert {sample.index % 2 for sample in samples} == {0, 1}
    late = [sample.index % 2 for sample in samples if sample.intended_at > 2.5]
    assert late
    assert set(late) == {1}


async def test_a_cancel_reaches_every_worker(tmp_path: Path) -> None:
    async def stall(asked: Asked, wire: Wire) -> None:
        await wire.stall()

    async with RawServer(stall) as server:
        leader = Leader(tmp_path / "run")
        await leader.start(scenario(server.port, duration_s=60), 2)
        await leader.until("windows")
        children = leader.children()
        leader.process.send_signal(signal.SIGTERM)
        finished = await leader.until("finished")
        async with asyncio.timeout(20):
            assert await leader.process.wait() == 130
    assert finished["status"] == "cancelled"
    assert set(finished["summary"]["outcomes"]) == {"cancelled"}
    assert len(children) == 2
    deadline = time.monotonic() + 10
    for pid in children:
        with suppress(ProcessLookupError):
            while time.monotonic() < deadline:
                os.kill(pid, 0)
                await asyncio.sleep(0.05)
            pytest.fail(f"worker {pid} outlived the run")


def fixed(limit: int) -> dict[str, Any]:
    policy = copy.deepcopy(POLICY)
    policy["spec"] = {"concurrency": {"law": "fixed", "limit": limit}}
    return policy


def test_a_fixed_limit_is_cut_into_shares_that_add_up() -> None:
    it = Scenario.parse(document(policy=fixed(10)))
    shares = [crew_rules.share(it, Slice(k, 4), salt="s").policy for k in range(4)]
    laws = [policy.law("concurrency") for policy in shares if policy]
    assert [law.bounds()[0] for law in laws if law] == [3, 3, 2, 2]


@pytest.mark.parametrize(
    ("changes", "workers", "why"),
    [
        ({"policy": fixed(64)}, 17, "from 1 to 16"),
        ({"policy": fixed(64)}, 0, "from 1 to 16"),
        ({"policy": fixed(2)}, 3, "the policy's limit"),
        ({"policy": {**POLICY, "spec": {"concurrency": {"law": "aimd"}}}}, 2, "every answer"),
    ],
)
def test_what_several_workers_can_not_share_is_refused(
    changes: dict[str, Any], workers: int, why: str
) -> None:
    with pytest.raises(DocumentError, match=why):
        crew_rules.check(Scenario.parse(document(**changes)), workers)
