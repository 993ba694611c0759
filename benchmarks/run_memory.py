"""How a load test's memory grows with its requests: ``python -m benchmarks.run_memory``.

A server of its own answers at once with a few tokens, so that requests go by as fast as one core
allows. Memory is the resident set of the process that ``headway run`` is, by the kernel's account:
while load runs, at each tenth of the requests, and the most it ever was, conclusion included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from loadtest.eventloop import run_fast
from loadtest.recorder import SAMPLES

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n"
CHUNK = b'data: {"choices":[{"index":0,"delta":{"content":" a"},"finish_reason":null}]}\n\n'
END = (
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":%d}}\n\n'
    b"data: [DONE]\n\n"
)


class _Answering(asyncio.Protocol):
    """Every request gets one write; ours are small and come whole in one segment."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._seen = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._seen += data
        if self._seen.endswith(b"}") and b"\r\n\r\n" in self._seen:
            self._seen = b""
            self._transport.write(self._answer)  # type: ignore[attr-defined]


def serve(tokens: int, ready: multiprocessing.Queue[int]) -> None:
    """Answer on a free port, which is told, until killed."""
    body = CHUNK * tokens + END % tokens
    answer = HEAD % len(body) + body

    async def forever() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Answering(answer), "127.0.0.1", 0)
        ready.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    run_fast(forever())


def resident(pid: int, field: str = "VmRSS") -> float:
    """MiB, by the kernel's account; 0 once it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), 0.0)


def measure(url: str, given: argparse.Namespace, requests: int, out: Path) -> None:
    """One run, told as it goes."""
    words = ["--endpoint", url, "--model", "m", "--kind", "openai", "--prompt-tokens", "8"]
    words += ["--max-tokens", str(given.tokens), "--concurrency", str(given.concurrency)]
    words += ["--duration", "6h", "--transport", given.transport, "--quiet", "--json"]
    command = [sys.executable, "-m", "headway", "run", *words, "--out", str(out)]
    samples, line, told, most = out / SAMPLES, 0, 0, 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        began = time.monotonic()
        print(f"{requests:,} requests × {given.tokens} tokens, {given.concurrency} at a time")
        while run.poll() is None and told < 10:
            time.sleep(0.1)
            size = samples.stat().st_size if samples.exists() else 0
            line = line or _length(samples)
            done = size // line if line else 0
            if done >= requests * (told + 1) / 10:
                told += 1
                print(f"  {done:>9,} requests  {resident(run.pid):6.1f} MiB", flush=True)
        load = time.monotonic() - began
        run.terminate()  # it reports all the same
        while run.poll() is None:
            most = max(most, resident(run.pid, "VmHWM"))
            if _has_reported(out):
                break
            time.sleep(0.02)
        said = run.stdout.read() if run.stdout else ""
    offered = json.loads(said)["offered"] if said.startswith("{") else 0
    seconds = time.monotonic() - began - load
    print(f"  {offered:,} offered; most {most:.1f} MiB, {seconds:.1f} s to conclude from them")


def _has_reported(out: Path) -> bool:
    return (out / "summary.json").exists()


def _length(samples: Path) -> int:
    """The mean bytes of a line so far; 0 before there are any."""
    if not samples.exists():
        return 0
    with samples.open("rb") as file:
        block = file.read(1 << 20)
    return len(block) // block.count(b"\n") if block.count(b"\n") > 1000 else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, action="append", help="may be given several times")
    parser.add_argument("--tokens", type=int, default=4)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--transport", default="auto")
    given = parser.parse_args()
    ready: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(given.tokens, ready), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ready.get(timeout=30)}"
    try:
        with tempfile.TemporaryDirectory() as place:
            for turn, requests in enumerate(given.requests or [100_000, 300_000]):
                measure(url, given, requests, Path(place) / str(turn))
    finally:
        server.kill()


if __name__ == "__main__":
    main()
