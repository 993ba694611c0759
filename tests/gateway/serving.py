"""A gateway on loopback, its configuration in few words, and what tests look at."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from engines.egress import EgressRules
from gateway.config import GatewayConfig
from gateway.config_reader import parse
from gateway.pipeline import Served
from gateway.server import GatewayServer, ServerOptions
from schedulers.document import Policy

KEY = "sk-acme-1"
AUTH = f"authorization: Bearer {KEY}\r\n"
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def policy(name: str = "steady", **law: Any) -> Policy:
    concurrency = law if "law" in law else {"law": "fixed", "limit": 8} | law
    return Policy.parse(
        {
            "apiVersion": "headway/v1",
            "kind": "Policy",
            "metadata": {"name": name},
            "spec": {"concurrency": concurrency},
        }
    )


def slo(**objectives: float) -> dict[str, Any]:
    return {
        "apiVersion": "headway/v1",
        "kind": "SLO",
        "metadata": {"name": "chat"},
        "spec": {
            "target": 0.99,
            "objectives": [{"metric": metric, "max": top} for metric, top in objectives.items()],
        },
    }


def lane(name: str, *urls: str) -> dict[str, Any]:
    endpoints = [
        {"name": f"{name}-{place}", "base_url": url, "model": "m"} for place, url in enumerate(urls)
    ]
    return {"name": name, "endpoints": endpoints}


def document(*urls: str, policies: tuple[Policy, ...] = (), **changed: Any) -> dict[str, Any]:
    """One lane over these engines, one tenant with one key; ``changed`` replaces fields."""
    versions = policies or (policy(),)
    return {
        "apiVersion": "headway/v1",
        "kind": "GatewayConfig",
        "gateway": "edge",
        "revision": 1,
        "listen": {"host": "127.0.0.1", "port": 0},
        "lanes": [lane("p", *urls)],
        "tenants": [{"name": "acme", "keys": [digest(KEY)]}],
        "policies": [{"sha256": p.sha256, "document": p.to_document()} for p in versions],
        "active": versions[0].sha256,
    } | changed


def config(*urls: str, **changed: Any) -> GatewayConfig:
    return parse(document(*urls, **changed))


class Gateway(GatewayServer):
    """A server that remembers every request that ended."""

    def __init__(self, config: GatewayConfig, options: ServerOptions, **more: Any) -> None:
        super().__init__(config, options, **more)
        self.served: list[Served] = []
        self.pipeline.sink = self.served.append

    @property
    def lane(self) -> Any:
        return next(iter(self.router.lanes.values()))

    @property
    def at_rest(self) -> bool:
        """Nothing in flight, nothing waiting, nothing half written down."""
        lanes = self.router.lanes.values()
        return (
            not self.pipeline.under_way
            and all(not x.limiter.in_flight and not x.waiting for x in lanes)
            and all(not e.in_flight and e.pool.open == e.pool.resting
                    for x in lanes for e in x.engines)
            and all(not a.open and not a.in_flight for a in self.books.accounts.values())
        )  # fmt: skip


@asynccontextmanager
async def gateway(
    config: GatewayConfig, *, clock: Callable[[], float] | None = None, **options: Any
) -> AsyncIterator[Gateway]:
    given = {"rules": EgressRules.open()} | options
    async with Gateway(config, ServerOptions(**given), clock=clock) as server:
        yield server
