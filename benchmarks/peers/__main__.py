"""Our load generator beside others, in one run, against a server that knows the truth.

    python -m benchmarks.peers --server /path/to/mockserver --environments /path/to/keep/them

Each tool has five runs against a server started anew: Poisson arrivals (an open loop, where the
tool has one) and a third of as many; a closed loop of 64 streams to a server without delays, short
and long; and a closed loop in which a share of the answers ends in an error frame under HTTP 200.
The difference of a short and a long run is what requests cost with the start-up left out: at that
rate, and as fast as the tool can. What a tool says of its times and failures is held against the
server's log; CPU is that of the command and everything it started. A peer that can't be installed
is left out, with the reason.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import resource
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.generator_truth import fetched, truth
from benchmarks.peers.environments import NotInstalled, python_of, tokenizer_of
from benchmarks.peers.tools import TOOLS, Load, Read, Tool


@dataclass(frozen=True)
class Found:
    """One command as seen from outside, and what it said."""

    code: int
    cpu: float
    first: float
    last: float
    log: list[dict[str, str]]
    said: Read | None

    @property
    def true_ttft(self) -> list[float]:
        """Of every request that got a token, in ms."""
        return [
            (int(row["t_first_token"]) - int(row["t_recv"])) / 1e6
            for row in self.log
            if int(row["t_first_token"]) > 0
        ]


def measured(tool: Tool, load: Load, python: Path, tokens: Path, within: float) -> Found:
    """Run it to its end, or to ``within`` seconds past its load."""
    environment = {**os.environ, **tool.environment}
    said, before = None, resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    with (
        (load.out.parent / f"{tool.name}.txt").open("w") as text,
        subprocess.Popen(
            tool.command(load, python, tokens),
            stdout=text,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        ) as running,
    ):
        try:
            code = running.wait(within + load.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)  # with every process that it started
            raise
    ended = time.monotonic()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [line for line in fetched(f"{load.url}/mock/log").splitlines() if line[:1] != "#"]
    log = list(csv.DictReader(io.StringIO("\n".join(lines))))
    try:
        said = tool.read(load.out)
    except (OSError, KeyError, IndexError, StopIteration, ValueError) as error:
        print(f"  {tool.name}: its report can't be read: {type(error).__name__} {error}")
    return Found(
        code=code,
        cpu=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        first=min((int(row["t_recv"]) for row in log), default=0) / 1e9 - began,
        last=ended - max((int(row["t_last_byte"]) for row in log), default=0) / 1e9,
        log=log,
        said=said,
    )


def past_start(short: Found, long: Found) -> str:
    """Requests a CPU-second of what the longer run did beyond the shorter one."""
    more, cost = len(long.log) - len(short.log), long.cpu - short.cpu
    return f"{more / cost:,.0f}" if more > 0 and cost > 0 else "–"


def accuracy(found: Found, short: Found, fast: tuple[Found, Found]) -> list[str]:
    """The cells of an open loop: TTFT off the truth, requests a CPU-second, start and end.

    Requests a CPU-second of the whole command, of what it did beyond a ``short`` run, and of what
    it did in the longer of two ``fast`` ones beyond the shorter.
    """
    true = found.true_ttft
    off = ["–", "–"]
    if found.said is not None and true:
        p50, p99 = np.percentile(true, [50, 99])
        pairs = ((found.said.ttft_p50, p50), (found.said.ttft_p99, p99))
        off = ["–" if told is None else f"{told - right:+.1f}" for told, right in pairs]
    rate = len(found.log) / found.cpu if found.cpu else 0.0
    return [
        f"{len(found.log):,}",
        *off,
        f"{rate:,.0f}",
        past_start(short, found),
        past_start(*fast),
        f"{found.first:.2f}",
        f"{found.last:.2f}",
    ]


def honesty(found: Found) -> list[str]:
    """The cells of a run with error frames: how many there were, were told, and the exit code."""
    true = sum(row["fault"] != "none" for row in found.log)
    told = "–" if found.said is None or found.said.errors is None else f"{found.said.errors:,}"
    return [f"{true:,} of {len(found.log):,}", told, str(found.code)]


FAST = (("some", 600, 3.0), ("many", 3000, 12.0))
"""Requests, or seconds where a tool takes those, of the two runs at full speed."""
HEADINGS = (
    (
        "tool",
        "requests",
        "TTFT off P50",
        "P99, ms",
        "a CPU-s",
        "past start",
        "full speed",
        "first, s",
        "exit, s",
    ),
    ("error frames", "told", "exit code"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", type=Path, required=True, help="the compiled truth server")
    parser.add_argument("--environments", type=Path, required=True, help="where peers are kept")
    parser.add_argument("--environment", action="append", default=[], metavar="TOOL=PYTHON")
    parser.add_argument("--only", action="append", metavar="TOOL", help="may be repeated")
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--requests", type=int, default=6000)
    parser.add_argument("--error-percent", type=float, default=16)
    parser.add_argument("--error-requests", type=int, default=500)
    parser.add_argument("--install-within", type=float, default=1800, metavar="SECONDS")
    parser.add_argument("--within", type=float, default=600, metavar="SECONDS")
    parser.add_argument("--port", type=int, default=28161)
    parser.add_argument("--realtime", action="store_true", help="the server before all else (root)")
    given = parser.parse_args()
    pairs = (item.partition("=") for item in given.environment)
    own = {name: Path(python) for name, _, python in pairs}
    print(
        f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {given.requests:,} "
        f"requests at {given.rate:g}/s × {given.tokens} tokens, true TTFT 50 ms, ITL 5 ms"
    )
    row = "{:<10}{:>10}{:>14}{:>10}{:>10}{:>12}{:>12}{:>10}{:>10}   {:>16}{:>8}{:>11}"
    print(row.format(*HEADINGS[0], *HEADINGS[1]))
    with tempfile.TemporaryDirectory() as place:
        for tool in TOOLS:
            if given.only and tool.name not in given.only:
                continue
            try:
                cells = _cells(tool, given, own, Path(place))
            except subprocess.TimeoutExpired as error:
                print(f"{tool.name:<10}left out: not at its end after {error.timeout:.0f} s")
                continue
            except (NotInstalled, OSError) as error:
                print(f"{tool.name:<10}left out: {error}")
                continue
            print(row.format(tool.name, *cells), flush=True)
            if tool.note:
                print(f"{'':<10}({tool.note})")


def _cells(tool: Tool, given: argparse.Namespace, own: dict[str, Path], place: Path) -> list[str]:
    python = python_of(tool, given.environments, own, given.install_within)
    tokens = tokenizer_of(tool, python, given.environments)
    first = ["chrt", "-f", "10"] if given.realtime else []
    times = ("--ttft-ms", "50", "--itl-ms", "5")
    opened = []
    (place / tool.name).mkdir()
    for named, requests in (("short", given.requests // 3), ("open", given.requests)):
        with truth(given.server, given.port, *times, realtime=first) as url:
            out = place / tool.name / named
            load = Load(url, out, given.tokens, requests, given.rate)
            opened.append(measured(tool, load, python, tokens, given.within))
    fast = []
    for named, requests, lasting in FAST:
        with truth(given.server, given.port, "--max", realtime=first) as url:
            out = place / tool.name / named
            load = Load(url, out, given.tokens, requests, None, 64, lasting)
            fast.append(measured(tool, load, python, tokens, given.within))
    cells = accuracy(opened[1], opened[0], (fast[0], fast[1]))
    faults = ("--psse-error", str(given.error_percent))
    with truth(given.server, given.port + 1, *times, *faults, realtime=first) as url:
        load = Load(url, place / tool.name / "closed", 16, given.error_requests, None)
        return cells + honesty(measured(tool, load, python, tokens, given.within))


if __name__ == "__main__":
    main()
