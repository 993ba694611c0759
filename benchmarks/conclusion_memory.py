"""What concluding a long run takes: ``python -m benchmarks.conclusion_memory``.

A run of so many requests is written as a load test writes it, by the product's own fold and
recorder, as fast as they go and through no socket. Each thing that reads such a run then does so in
a process of its own: its seconds, and the most memory it ever had by the kernel's account.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from loadtest import facts
from loadtest.facts import Facts
from loadtest.recorder import Recorder
from loadtest.scenario import Scenario
from measurement.outcome import Outcome, TokenSource
from measurement.sample import Sample
from measurement.window import WindowFold

SLO = {
    "apiVersion": "headway/v1",
    "kind": "SLO",
    "metadata": {"name": "chat", "owner": "platform"},
    "spec": {
        "target": 0.9,
        "objectives": [{"metric": "ttft_ms", "max": 400}, {"metric": "tpot_ms", "max": 40}],
    },
}
CONCLUDE = """
from pathlib import Path
from loadtest import facts, publishing
from loadtest.column_files import in_columns
from loadtest.conclusion import FINISHED, Seen, conclude
from loadtest.outline import Outline
from loadtest.recorder import read_of_windows, read_samples
out = Path({out!r})
scenario, known = facts.read(out)
seen = Seen(read_of_windows(out, Outline.of), stopped_at=scenario.duration_s)
with in_columns(read_samples(out), out) as columns:
    publishing.write_files(conclude(columns, scenario, known, seen, FINISHED), out)
"""
PARQUET = """
from loadtest import sample_store
sample_store.settle(out, "both")
"""
GATE = """
from pathlib import Path
from loadtest.column_files import in_columns
from loadtest.recorder import read_samples
from measurement.threshold_verdict import judge_thresholds
from measurement.thresholds import parse_all
out = Path({out!r})
with in_columns(read_samples(out), out) as columns:
    print(*judge_thresholds(parse_all(["ttft_ms: p(95)<800"]), columns, None, start=0.0, end=1e9))
"""


def scenario(given: argparse.Namespace, requests: int) -> Scenario:
    return Scenario.parse(
        {
            "endpoint": {"name": "e", "base_url": "http://h:8000/v1", "model": "m"},
            "workload": {"kind": "fixed", "output_tokens": given.tokens},
            "arrivals": {"process": "constant", "rate": given.rate},
            "duration_s": requests / given.rate,
            "slo": SLO,
            "warm_up": "auto",
        }
    )


def samples(given: argparse.Namespace, requests: int) -> Iterator[Sample]:
    """In order of intended start; each gap is drawn by itself."""
    rng = np.random.default_rng(1)
    for index in range(requests):
        at = index / given.rate
        gaps = tuple(np.round(rng.exponential(0.02, given.tokens - 1), 7).tolist())
        first = round(at + 0.0003 + float(rng.gamma(2, 0.1)), 7)
        last = round(first + sum(gaps), 7)
        yield Sample(
            index, f"t{index % 3}", at, Outcome.TRUNCATED, at, at, round(at + 0.0003, 7),
            first, first, last, round(last + 0.0001, 7), 100 + index % 500, given.tokens,
            TokenSource.USAGE, 1, given.tokens, gaps, None, 200,
        )  # fmt: skip


def write(given: argparse.Namespace, requests: int, out: Path) -> None:
    """The run's directory, but for its report."""
    asked = scenario(given, requests)
    facts.write(out, asked, Facts(0.0, "0", requests, "salt"))
    fold, told = WindowFold(slo=asked.slo), 0.0
    with Recorder(out) as recorder:
        for sample in samples(given, requests):
            fold.offered(sample.index, sample.tenant, sample.intended_at)
            fold.sent(sample.intended_at)
            fold.resolved(sample)
            recorder.sample(sample)
            if sample.intended_at >= told + 1.0:
                told = sample.intended_at
                recorder.flush()
                recorder.windows(fold.changed(told))
        recorder.windows(fold.finish(requests / given.rate))


def taken(words: list[str]) -> tuple[float, float]:
    """Seconds, and MiB at most, of a command of this interpreter."""
    began = time.monotonic()
    child = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(words)} ended with {child.returncode}")
    return time.monotonic() - began, used.ru_maxrss / 1024


def measure(given: argparse.Namespace, requests: int, out: Path) -> None:
    writer = multiprocessing.Process(target=write, args=(given, requests, out))
    writer.start()
    writer.join()
    size = (out / "samples.jsonl").stat().st_size / 2**20
    print(f"{requests:,} requests × {given.tokens} tokens at {given.rate:g}/s, {size:,.0f} MiB")
    commands = {
        "recover": ["-m", "loadtest.recover", str(out)],
        "conclude": ["-c", CONCLUDE.format(out=str(out))],
        "and keep as Parquet": ["-c", CONCLUDE.format(out=str(out)) + PARQUET],
        "thresholds of a gate": ["-c", GATE.format(out=str(out))],
        "compare with itself": ["-m", "headway", "compare", str(out), str(out)],
    }
    for name, words in commands.items():
        seconds, most = taken(words)
        print(f"  {name:<22}{seconds:7.1f} s  {most:6.1f} MiB at most", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, action="append", help="may be given several times")
    parser.add_argument("--tokens", type=int, default=5)
    parser.add_argument("--rate", type=float, default=200.0)
    given = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for requests in given.requests or [100_000, 300_000, 1_000_000]:
        place = Path(tempfile.mkdtemp())
        try:
            measure(given, requests, place)
        finally:
            shutil.rmtree(place)


if __name__ == "__main__":
    main()
