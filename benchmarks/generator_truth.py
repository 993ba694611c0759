"""What ``headway run`` measures, against a server that knows the true time of every token.

    python -m benchmarks.generator_truth --server /path/to/mockserver

The server is the truth server: a C program with a log of true times on this machine's monotonic
clock, started anew for each row. A row is one ``headway run`` in a process of its own, so that
start, exit, CPU and memory are those of a user's command. Errors are ours minus true, request by
request, paired by the order in which they were sent; so they need all of them in the log.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from loadtest.recorder import read_samples
from measurement.sample import Sample

MODEL = "mock-model"


@dataclass(frozen=True)
class Row:
    """One command and what disturbs it."""

    title: str
    words: tuple[str, ...]
    burner: bool = False


def rows(given: argparse.Namespace) -> list[Row]:
    load = ("--arrivals", "poisson", "--rate", str(given.rate), "--max-tokens", str(given.tokens))
    load += ("--duration", f"{given.seconds}s", "--prompt-tokens", "16")
    # Of five seconds each, so that 400 are open at a time; begun at one instant, they would wait
    # for each other's sends.
    streams = ("--arrivals", "poisson", "--rate", "80", "--max-tokens", "100", *load[6:])
    return [
        Row("protocol", (*load, "--transport", "protocol")),
        Row("kernel", (*load, "--transport", "kernel")),
        Row("kernel, one core burnt", (*load, "--transport", "kernel"), burner=True),
        Row("kernel, 2 workers", (*load, "--transport", "kernel", "--workers", "2")),
        Row("aiohttp", (*load, "--transport", "aiohttp")),
        Row("400 streams × 20 tokens/s, protocol", (*streams, "--transport", "protocol")),
        Row("400 streams × 20 tokens/s, kernel", (*streams, "--transport", "kernel")),
    ]


@contextmanager
def truth(binary: Path, port: int, *options: str, realtime: list[str]) -> Iterator[str]:
    words = [*realtime, str(binary), "--port", str(port), "--model", MODEL, *options]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        url = f"http://127.0.0.1:{port}"
        try:
            for _ in range(100):
                try:
                    fetched(f"{url}/health")
                    break
                except OSError:
                    time.sleep(0.05)
            yield url
        finally:
            server.kill()


@contextmanager
def burning() -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310 - our own server
        return str(answer.read().decode())


@dataclass(frozen=True)
class Found:
    samples: list[Sample]
    summary: dict[str, Any]
    log: list[dict[str, int]]
    began: float
    ended: float
    cpu: float
    rss: float
    at_unix: float


def measured(row: Row, url: str, out: Path) -> Found:
    words = ["run", "--endpoint", url, "--model", MODEL, "--kind", "openai", "--quiet", "--json"]
    command = [sys.executable, "-m", "headway", *words, *row.words, "--out", str(out)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False, env=os.environ, timeout=300)
    ended = time.monotonic()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = [line for line in fetched(f"{url}/mock/log").splitlines() if not line.startswith("#")]
    log = [
        {name: int(value) for name, value in entry.items() if value.lstrip("-").isdigit()}
        for entry in csv.DictReader(io.StringIO("\n".join(lines)))
    ]
    summary = json.loads((out / "summary.json").read_text())
    at_unix = json.loads((out / "run.json").read_text())["at_unix"]
    samples, rss = list(read_samples(out)), after.ru_maxrss / 1024
    return Found(samples, summary, log, began, ended, cpu, rss, at_unix)


def told(row: Row, found: Found) -> None:
    ours = sorted((s for s in found.samples if s.sent_at is not None), key=lambda s: s.sent_at or 0)
    true = sorted(found.log, key=lambda entry: entry["t_recv"])
    whole = len(ours) == len(true)
    both = zip(ours, true, strict=True) if whole else ()
    pairs = [(s, t) for s, t in both if s.first_token_at is not None and t["t_first_token"] > 0]
    ttft = np.array(
        [1e3 * (s.service_ttft or 0) - (t["t_first_token"] - t["t_recv"]) / 1e6 for s, t in pairs]
    )
    print(f"\n{row.title}")
    print(f"  requests            {len(found.samples):,} sent, {len(true):,} in the server's log")
    print(f"  outcomes            {found.summary['outcomes']}")
    if len(ttft):
        p50, p99 = np.percentile(np.abs(ttft), [50, 99])
        print(f"  TTFT error, ms      P50 {p50:.2f}, P99 {p99:.2f}, max {np.abs(ttft).max():.2f}")
    tokens = np.array([_token_error(found, s, t) for s, t in pairs])
    if len(tokens):
        p50, p99 = np.percentile(np.abs(tokens), [50, 99])
        print(f"  first token, ms     P50 {p50:.2f}, P99 {p99:.2f} off its true moment")
    late = np.percentile([entry["max_late_ns"] / 1e6 for entry in true], 99) if true else 0.0
    print(f"  server's own, ms    {late:.2f} late at P99")
    validity, client = found.summary["validity"], found.summary["client"]
    lag = client.get("receive_lag_ms") or client["loop_lag_ms"]
    print(f"  read late, ms       P99 {lag['p99']:.2f}")
    print(f"  send lag, ms        P99 {validity['numbers']['send_lag_ms']['p99'] or 0:.2f}")
    print(f"  validity            {validity['status']} {' '.join(validity['reasons'])}")
    share = (client["cpu_share"] or 0) * found.summary["duration_s"]
    if share:
        print(f"  requests per CPU-s  {len(found.samples) / share:,.0f} while load ran")
    print(
        f"  CPU, memory         {found.cpu:.1f} s in all, {found.rss:.0f} MiB (largest of all rows)"
    )
    if true:
        first = min(entry["t_recv"] for entry in true) / 1e9 - found.began
        last = found.ended - max(entry["t_last_byte"] for entry in true) / 1e9
        print(
            f"  start and exit      {first:.2f} s to the first request, {last:.2f} s from the last"
        )


def _token_error(found: Found, sample: Sample, entry: dict[str, int]) -> float:
    """Ours minus true moment of the first token, in ms of the wall clock."""
    true = (entry["t_first_token"] + entry["wall_offset_ns"]) / 1e9
    return 1e3 * (found.at_unix + (sample.first_token_at or 0.0) - true)


def shape(given: argparse.Namespace, url: str, workers: int, out: Path) -> None:
    """Whether arrivals are Poisson as sent, whatever the number of workers."""
    words = ("--arrivals", "poisson", "--rate", "500", "--max-tokens", "4", "--prompt-tokens", "8")
    seconds = given.shape_seconds
    row = Row("", (*words, "--duration", f"{seconds}s", "--workers", str(workers)))
    found = measured(row, url, out)
    sent = np.sort([s.sent_at for s in found.samples if s.sent_at is not None])
    gaps = np.sort(np.diff(sent))
    steps = np.arange(len(gaps)) / len(gaps)
    distance = np.abs(1 - np.exp(-500 * gaps) - steps).max()
    counts, _ = np.histogram(sent, bins=int(seconds * 50), range=(0, seconds))
    index = counts.var(ddof=1) / counts.mean()
    lag = found.summary["validity"]["numbers"]["send_lag_ms"]["p99"]
    print(
        f"  {workers} worker(s)         {len(sent):,} sent, KS distance {distance:.4f}, "
        f"dispersion {index:.3f}, send lag P99 {lag:.2f} ms, {found.summary['validity']['status']}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", type=Path, required=True, help="the compiled truth server")
    parser.add_argument("--port", type=int, default=8161)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--shape-seconds", type=int, default=21)
    parser.add_argument("--realtime", action="store_true", help="the server before all else (root)")
    given = parser.parse_args()
    first = ["chrt", "-f", "10"] if given.realtime else []
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{given.rate:g} Poisson requests/s × {given.tokens} tokens, true TTFT 50 ms, ITL 5 ms")
    with tempfile.TemporaryDirectory() as place:
        for turn, row in enumerate(rows(given)):
            slow = "streams" in row.title
            options = ("--ttft-ms", "50", "--itl-ms", "50" if slow else "5")
            with ExitStack() as stack:
                url = stack.enter_context(
                    truth(given.server, given.port + turn, *options, realtime=first)
                )
                if row.burner:
                    stack.enter_context(burning())
                told(row, measured(row, url, Path(place) / str(turn)))
        print("\nPoisson at 500 requests/s × 4 tokens, as sent")
        for workers in (1, 2, 4):
            with truth(
                given.server, given.port + 20 + workers, "--ttft-ms", "5", realtime=first
            ) as url:
                shape(given, url, workers, Path(place) / f"shape-{workers}")


if __name__ == "__main__":
    main()
