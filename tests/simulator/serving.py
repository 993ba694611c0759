"""A served engine on a loopback port, and a raw client to look at its bytes with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from simulator.core.config import EngineConfig
from simulator.faults import Faults
from simulator.server import EngineServer, ServerOptions
from tests.simulator.core.engines import config

ROOMY = config(blocks=4001, max_model_len=2000, token_budget=512, max_seqs=256)
"""A millisecond a step, no ingest delay, room for everybody."""


@asynccontextmanager
async def serving(
    engine: EngineConfig = ROOMY, faults: Faults | None = None
) -> AsyncIterator[EngineServer]:
    options = ServerOptions(config=engine, port=0, faults=faults or Faults())
    async with EngineServer(options) as server:
        yield server


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def events(self) -> list[Any]:
        """The data of each server-sent event; [DONE] as it is."""
        events = [event.removeprefix(b"data: ") for event in self.body.split(b"\n\n") if event]
        return [event.decode() if event == b"[DONE]" else json.loads(event) for event in events]


class RawClient:
    """One connection; says exactly the bytes it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, method: str, path: str, body: Any = None, *, extra: str = "") -> Answer:
        self.send(method, path, body, extra=extra)
        return await self.answer()

    def send(self, method: str, path: str, body: Any = None, *, extra: str = "") -> None:
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nhost: engine\r\ncontent-length: {len(data)}\r\n{extra}"
        self.writer.write(f"{head}\r\n".encode() + data)

    async def answer(self) -> Answer:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        status = int(first.split()[1])
        if headers.get("transfer-encoding") == "chunked":
            return Answer(status, headers, b"".join([chunk async for chunk in self.chunks()]))
        return Answer(
            status, headers, await self.reader.readexactly(int(headers["content-length"]))
        )

    async def chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self.reader.readuntil(b"\n"), 16):
            yield await self.reader.readexactly(size)
            await self.reader.readexactly(2)
        await self.reader.readexactly(2)


@asynccontextmanager
async def connected(server: EngineServer) -> AsyncIterator[RawClient]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        yield RawClient(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):  # some tests are about the other side breaking it
            await writer.wait_closed()


async def ask(server: EngineServer, method: str, path: str, body: Any = None) -> Answer:
    async with connected(server) as client:
        return await client.ask(method, path, body)


async def metrics(server: EngineServer) -> dict[str, float]:
    """Every sample of /metrics by its name and labels as written."""
    page = (await ask(server, "GET", "/metrics")).body.decode()
    lines = [line for line in page.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def sample(name: str, **labels: str) -> str:
    """The key of one sample of the served model."""
    every = sorted(({"engine": "0", "model_name": "simulated"} | labels).items())
    written = ",".join(f'{key}="{value}"' for key, value in every)
    return f"{name}{{{written}}}"


async def until(server: EngineServer, name: str, value: float) -> None:
    """Wait for a sample to have a value; the test's own timeout ends a vain wait."""
    while (await metrics(server))[name] != value:  # noqa: ASYNC110 - another process would poll too
        await asyncio.sleep(0.005)
