"""Batches as the gateway's own code makes them: its books, its router, a clock that is set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from engines.egress import EgressRules
from gateway.books import Books
from gateway.config_reader import parse
from gateway.engine import Means
from gateway.routing import Router
from gateway.spool import Spool
from gateway.telemetry import Telemetry
from measurement.outcome import Outcome
from measurement.sample import Sample


class Process:
    """A gateway process without a port: what it serves is said, and told as it would be."""

    def __init__(self, document: dict[str, Any], folder: Path, at: float) -> None:
        self.now = at
        means = Means(lambda: self.now, EgressRules.open(), np.random.default_rng(1), {})
        config = parse(document)
        self.books = Books(config.slo)
        self.router = Router(config, means)
        self.spool = Spool(folder)
        self.telemetry = Telemetry(self.books, self.router, self.spool, lambda: self.now)
        self._index = 0

    def configure(self, document: dict[str, Any]) -> None:
        config = parse(document)
        self.router.configure(config)
        self.books.judge_by(config.slo)

    def serve(
        self,
        *,
        tenant: str = "acme",
        ttft: float | None = 0.1,
        outcome: Outcome = Outcome.OK,
        open_: bool = False,
    ) -> Any:
        """One request that comes now; its first token after ``ttft`` seconds, its end at 2·ttft."""
        at, index = self.now, self._index
        self._index += 1
        place = self.router.place(tenant, at)
        account = self.books.open(place, tenant, index, at)

        def close() -> None:
            first = at + ttft if ttft is not None and outcome.success else None
            done = at + 2 * (ttft or 0.0)
            sample = Sample(
                index=index, tenant=tenant, intended_at=at, handed_at=at, outcome=outcome,
                sent_at=at, first_token_at=first, last_token_at=None if first is None else done,
                done_at=done, output_tokens=None if first is None else 8,
                prompt_tokens=12,
            )  # fmt: skip
            self.books.close(place, account, sample)

        if open_:
            return close
        close()
        return None

    def until(self, at: float) -> None:
        """Time goes on."""
        self.now = at
        self.router.settle(at)

    def batch(self, *, last: bool = False) -> dict[str, Any]:
        """What it has to say now, as it would be sent."""
        self.telemetry.collect(last=last)
        first = self.spool.first()
        assert first is not None
        self.spool.done(first[0])
        found: dict[str, Any] = json.loads(first[1])
        return found
