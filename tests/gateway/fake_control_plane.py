"""A control plane of a few lines: one configuration with an ETag, batches stored once each."""

from __future__ import annotations

import json
from typing import Any

from tests.engines.raw_server import Asked, RawServer, Wire, page

TOKEN = "hwg_test-token-1"


class FakeControlPlane:
    """The script of a RawServer. Its fields say what it does next."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self.etag = '"1"'
        self.up = True
        self.lose_answers = False
        self.status = 200
        self.batches: dict[tuple[str, int], dict[str, Any]] = {}
        self.arrived: list[int] = []
        """Sequence numbers as they came, repeats too."""
        self.polls: list[int] = []
        """Statuses answered to polls."""

    def publish(self, document: Any) -> None:
        self.document = document
        self.etag = f'"{int(self.etag.strip(chr(34))) + 1}"'

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        wire.keep = True
        if not self.up:
            wire.reset()
            return
        assert f"Authorization: Bearer {TOKEN}" in asked.head
        if asked.line == "GET /api/v1/gateways/edge/config HTTP/1.1":
            await wire.send(self._config(asked))
        else:
            assert asked.line == "POST /api/v1/gateways/edge/telemetry HTTP/1.1"
            answer = self._telemetry(json.loads(asked.body))
            if self.lose_answers:
                wire.reset()
            else:
                await wire.send(answer)

    def _config(self, asked: Asked) -> bytes:
        if f"If-None-Match: {self.etag}" in asked.head:
            self.polls.append(304)
            return b"HTTP/1.1 304 Not Modified\r\n\r\n"
        self.polls.append(200)
        text = self.document if isinstance(self.document, str) else json.dumps(self.document)
        return page(text.encode(), ETag=self.etag)

    def _telemetry(self, batch: dict[str, Any]) -> bytes:
        if self.status != 200:
            return page(b"{}", f"{self.status} No")
        key = (batch["stream"], batch["sequence"])
        self.arrived.append(batch["sequence"])
        self.batches.setdefault(key, batch)
        most = max(number for stream, number in self.batches if stream == batch["stream"])
        return page(json.dumps({"stream": batch["stream"], "acknowledged": most}).encode())

    @property
    def sequences(self) -> list[int]:
        return [number for _, number in self.batches]

    def windows(self) -> dict[tuple[str, str, str, int], dict[str, Any]]:
        """The newest revision of each window, by process, arm, tenant and index."""
        found: dict[tuple[str, str, str, int], dict[str, Any]] = {}
        for batch in self.batches.values():
            for entry in batch["windows"]:
                window = entry["window"]
                key = (batch["boot"], entry["arm"], entry["tenant"], window["index"])
                if key not in found or found[key]["revision"] < window["revision"]:
                    found[key] = window
        return found


def serving(fake: FakeControlPlane) -> RawServer:
    return RawServer(fake)
