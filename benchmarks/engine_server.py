"""What the engine server holds: ``python -m benchmarks.engine_server [--streams 1000]``.

The server runs in a process of its own, with a profile whose step always takes 50 ms, so that each
stream gets 20 tokens a second. A raw client in this process only counts bytes. Reported: the
server's CPU time per chunk, and how late it says it was against its model.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import cast

PROFILE = """
gpu: none
model: steps of 50 ms
tensor_parallel: 1
engine: benchmark
t0_ms: 50.0
t_w_ms: 0.0
t_c_ms: 0.0
t_kv_ms: 0.0
t_s_ms: 0.0
t_a_ms: 0.0
kv_bytes_per_token: 1
blocks: 100000
token_budget: 65536
max_seqs: 4096
max_model_len: 4096
source: made for this benchmark
error: no end-to-end check
"""
RUN = (
    "import argparse, sys; from headway.commands import engine; "
    "parser = argparse.ArgumentParser(); engine.add_arguments(parser); "
    "sys.exit(engine.run(parser.parse_args()))"
)
TICKS = 100
"""Clock ticks a second in /proc (Linux)."""


@dataclass(slots=True)
class Stream(asyncio.Protocol):
    """Asks once and counts the chunks it gets."""

    body: bytes
    done: asyncio.Future[int]
    chunks: int = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        head = b"POST /v1/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(self.body)
        cast("asyncio.WriteTransport", transport).write(head + self.body)

    def data_received(self, data: bytes) -> None:
        self.chunks += data.count(b'data: {"id"')
        if data.endswith(b"0\r\n\r\n") and not self.done.done():
            self.done.set_result(self.chunks)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("cut off"))


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


async def load(port: int, streams: int, tokens: int) -> int:
    body = b'{"prompt": "a", "max_tokens": %d, "ignore_eos": true, "stream": true}' % tokens
    loop = asyncio.get_running_loop()
    ends = [loop.create_future() for _ in range(streams)]
    made = [
        await loop.create_connection(lambda end=end: Stream(body, end), "127.0.0.1", port)
        for end in ends
    ]
    counts = await asyncio.gather(*ends)
    for transport, _ in made:
        transport.close()
    return sum(counts)


def lag_of(page: str) -> tuple[float, float]:
    """Mean and worst lateness of a step's last token, in seconds."""
    found = dict(re.findall(r"^headway:engine_(\w+)\{[^}]*\} (\S+)$", page, flags=re.MULTILINE))
    mean = float(found["step_lag_seconds_sum"]) / max(1.0, float(found["step_lag_seconds_count"]))
    return mean, float(found["lag_seconds"])


def measure(streams: int, seconds: float) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as profile:
        profile.write(PROFILE)
        profile.flush()
        command = [sys.executable, "-c", RUN, "--port", "0", "--profile", profile.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                url = server.stdout.readline().split()[2]
                report(server.pid, url, streams, seconds)
            finally:
                server.terminate()


def report(pid: int, url: str, streams: int, seconds: float) -> None:
    import uvloop  # noqa: PLC0415 - only where the benchmark can run at all

    before = cpu_seconds(pid)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        chunks = runner.run(load(int(url.rsplit(":", 1)[1]), streams, int(seconds * 20)))
    spent = cpu_seconds(pid) - before
    with urllib.request.urlopen(f"{url}/metrics") as answer:  # noqa: S310 - loopback
        mean, worst = lag_of(answer.read().decode())
    print(
        f"{streams:5d} streams × 20 tokens/s: {chunks:7d} chunks, "
        f"{spent / chunks * 1e6:5.1f} µs CPU a chunk, {spent / seconds:5.1%} of a core, "
        f"late by {mean * 1e3:.1f} ms mean, {worst * 1e3:.1f} ms worst of the last 5–10 s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, nargs="+", default=[100, 1000, 2000])
    parser.add_argument("--seconds", type=float, default=10.0)
    args = parser.parse_args()
    for streams in args.streams:
        measure(streams, args.seconds)


if __name__ == "__main__":
    main()
