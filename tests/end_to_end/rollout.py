"""Taking a version to a gateway's traffic as two people do: propose, start, approve, watch."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engines.egress import EgressRules
from engines.http_get import GetFailed, fetch
from engines.transport.base import HttpRequest
from engines.transport.httptools_stream import HttptoolsTransport
from tests.end_to_end.embedded import Embedded

RATE = 80.0
"""Requests a second over both lanes: 40 an arm take a second."""
TOKENS = 4
WIDE = {"attainment": 0.15, "errors": 0.15}
"""Rare events pass by ln(1/α)/δ clean blocks: 20 of them."""
ARRIVALS = {"process": "poisson", "rate": 10}
REPLAY = {"arrivals": ARRIVALS, "blocks": 33, "margins": WIDE}
MODEL = {"stage": "model", **REPLAY, "block_s": 2, "deadline_s": 90}
LOAD_TEST = {"stage": "load_test", **REPLAY, "block_s": 1.2, "washout_s": 0.2, "deadline_s": 180}
SHADOW = {"stage": "shadow", "bake_s": 2, "least_steps": 50, "deadline_s": 60}
CANARY = {
    "stage": "canary",
    "blocks": 60,
    "floor_s": 1,
    "deadline_s": 180,
    "criteria": [
        {"kind": "attainment", "pass_margin": WIDE["attainment"], "scale": 0.2},
        {"kind": "errors", "pass_margin": WIDE["errors"], "guardrail": False},
    ],
}
FULL = {"stage": "full", "bake_s": 2, "deadline_s": 60}


CHAT = json.dumps(
    {
        "model": "simulated",
        "stream": True,  # a whole answer at once has no TTFT that could be judged
        "max_tokens": TOKENS,
        "messages": [{"role": "user", "content": "What is twelve times twelve?"}],
    }
).encode()


def plan(candidate: str, *stages: dict[str, Any]) -> dict[str, Any]:
    """A plan over the demo gateway."""
    return {
        "apiVersion": "headway/v1",
        "kind": "RolloutPlan",
        "metadata": {"name": f"try-{candidate}", "owner": "platform"},
        "spec": {
            "gateway": "demo",
            "candidate": candidate,
            "workload": "twelve-words",
            "seed": 20417,
            "stages": list(stages),
        },
    }


def fixed(name: str, limit: int) -> dict[str, Any]:
    """A policy that lets so many requests go to an engine at a time."""
    return {
        "apiVersion": "headway/v1",
        "kind": "Policy",
        "metadata": {"name": name},
        "spec": {"concurrency": {"law": "fixed", "limit": limit}},
    }


class Traffic:
    """Clients of the gateway: short chats at a steady rate, and which policy answered them.

    One event loop in a thread, on the project's own transport: it has to cost little beside what
    it asks.
    """

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key
        self.policies: dict[str, int] = {}
        self.latest, self.in_a_row = "", 0
        self._ended = threading.Event()

    @contextmanager
    def flowing(self, rate: float = RATE) -> Iterator[Traffic]:
        """So many requests a second while the block lasts."""
        loop = threading.Thread(target=lambda: asyncio.run(self._flow(rate)), daemon=True)
        loop.start()
        try:
            yield self
        finally:
            self._ended.set()
            loop.join(timeout=30)

    async def _flow(self, rate: float) -> None:
        transport = HttptoolsTransport(EgressRules.loopback())
        out: set[asyncio.Task[None]] = set()
        due = time.monotonic()
        while not self._ended.is_set():
            task = asyncio.create_task(self._ask(transport))
            out.add(task)
            task.add_done_callback(out.discard)
            due += 1 / rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        for task in out:
            task.cancel()
        await asyncio.gather(*out, return_exceptions=True)
        await transport.close()

    async def _ask(self, transport: HttptoolsTransport) -> None:
        headers = (("Authorization", f"Bearer {self.key}"), ("Content-Type", "application/json"))
        request = HttpRequest("POST", f"{self.url}/chat/completions", headers, CHAT)
        try:
            page = await fetch(request, transport, within=20.0)
        except GetFailed:
            return  # the gateway counts it
        if page.status == 200:
            named = {name.lower(): value for name, value in page.headers.items()}
            answered = named["x-headway-policy"]
            self.in_a_row = self.in_a_row + 1 if answered == self.latest else 1
            self.latest = answered
            self.policies[self.latest] = self.policies.get(self.latest, 0) + 1


def traffic_of(embedded: Embedded) -> Traffic:
    """Through the demo gateway, with the key of its tenant."""
    url = re.search(r"gateway +(\S+/v1)", embedded.said)[1]
    return Traffic(url, (embedded.data_dir / "demo_key").read_text().strip())
