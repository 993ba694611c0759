"""Taking a version to a gateway's traffic as two people do: propose, start, approve, watch."""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.end_to_end.embedded import Embedded, Visitor, wait_for

RATE = 80.0
"""Requests a second over both lanes: 40 an arm take a second."""
TOKENS = 4
WIDE = {"attainment": 0.15, "errors": 0.15}
"""Rare events pass by ln(1/α)/δ clean blocks: 20 of them."""
ARRIVALS = {"process": "poisson", "rate": 10}
REPLAY = {"arrivals": ARRIVALS, "blocks": 33, "margins": WIDE}
MODEL = {"stage": "model", **REPLAY, "block_s": 5, "deadline_s": 90}
LOAD_TEST = {"stage": "load_test", **REPLAY, "block_s": 1.2, "washout_s": 0.2, "deadline_s": 180}
SHADOW = {"stage": "shadow", "bake_s": 4, "least_steps": 50, "deadline_s": 60}
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
FULL = {"stage": "full", "bake_s": 3, "deadline_s": 60}


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


@dataclass
class Team:
    """The demo team's two people, and a program with the first one's token."""

    admin: Visitor
    approver: Visitor
    passwords: dict[str, str]
    latest: str = ""
    """The rollout that was proposed last."""

    @classmethod
    def of(cls, embedded: Embedded) -> Team:
        second = re.search(r"approve +approver / (\S+)", embedded.said)[1]
        admin = Visitor(embedded.url).sign_in(embedded.password).make_token()
        approver = Visitor(embedded.url).sign_in(second, name="approver")
        return cls(admin, approver, {"admin": embedded.password, "approver": second})

    def prepare(self) -> None:
        """A short workload and two candidates; the first run of the set-up is stopped."""
        document = {"kind": "fixed", "prompt_tokens": 12, "output_tokens": TOKENS}
        self.admin.api("POST", "/workloads", {"name": "twelve-words", "document": document})
        self.admin.api("POST", "/policies", {"document": fixed("wider", 48)})
        self.admin.api("POST", "/policies", {"document": fixed("one-at-a-time", 1)})
        for run in self.admin.api("GET", "/runs")["results"]:
            if run["status"] in ("queued", "running"):
                self.admin.api("POST", f"/runs/{run['id']}/cancel")

    def propose(self, candidate: str, *stages: dict[str, Any]) -> str:
        """By the API; the rollout's id, started."""
        body = {"document": plan(candidate, *stages)}
        rollout = self.admin.api("POST", "/rollouts", body)
        self.admin.api("POST", f"/rollouts/{rollout['id']}/start")
        self.latest = str(rollout["id"])
        return self.latest

    def look(self, rollout: str) -> dict[str, Any]:
        return dict(self.admin.api("GET", f"/rollouts/{rollout}"))

    def until(
        self, rollout: str, *phases: str, stage: str = "", within: float = 120.0
    ) -> dict[str, Any]:
        """The rollout once it stands in one of those phases, in that stage where one is said."""

        def there() -> dict[str, Any] | None:
            found = self.look(rollout)
            ended = found["ended_at"] is not None or found["phase"] == "held"
            if found["phase"] in phases and stage in ("", found["stage_name"]):
                return found
            assert not ended, f"{found['phase']} in {found['stage_name']}: {found['because']}"
            return None

        return dict(wait_for(there, within=within, why=f"{'/'.join(phases)} {stage}"))

    def approve(self, rollout: str, comment: str = "looked at the evidence") -> None:
        """On the rollout's page, by the second person, with the password again."""
        self.approver.post(
            f"/rollouts/{rollout}/decide/",
            page=f"/rollouts/{rollout}/",
            word="approve",
            binding=self.look(rollout)["binding"],
            comment=comment,
            password=self.passwords["approver"],
        )


class Traffic:
    """Clients of the gateway: short chats at a steady rate, and which policy answered them."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key
        self.policies: dict[str, int] = {}
        self.latest = ""
        self._ended = threading.Event()
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(self) -> None:
        body = {
            "model": "simulated",
            "stream": True,  # a whole answer at once has no TTFT that could be judged
            "max_tokens": TOKENS,
            "messages": [{"role": "user", "content": "What is twelve times twelve?"}],
        }
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(
            f"{self.url}/chat/completions", json.dumps(body).encode(), headers
        )
        try:
            with self._opener.open(request, timeout=20) as answer:
                answer.read()
                self.latest = answer.headers["X-Headway-Policy"] or ""
                self.policies[self.latest] = self.policies.get(self.latest, 0) + 1
        except OSError:
            return  # the gateway counts it

    @contextmanager
    def flowing(self, rate: float = RATE) -> Iterator[Traffic]:
        """So many requests a second while the block lasts."""
        with ThreadPoolExecutor(max_workers=64) as pool:
            pacer = threading.Thread(target=self._pace, args=(pool, rate), daemon=True)
            pacer.start()
            try:
                yield self
            finally:
                self._ended.set()
                pacer.join(timeout=30)
                pool.shutdown(cancel_futures=True)

    def _pace(self, pool: ThreadPoolExecutor, rate: float) -> None:
        due = time.monotonic()
        while not self._ended.is_set():
            pool.submit(self.ask)
            due += 1 / rate
            time.sleep(max(0.0, due - time.monotonic()))


def traffic_of(embedded: Embedded) -> Traffic:
    """Through the demo gateway, with the key of its tenant."""
    url = re.search(r"gateway +(\S+/v1)", embedded.said)[1]
    return Traffic(url, (embedded.data_dir / "demo_key").read_text().strip())
