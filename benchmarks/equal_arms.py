"""How often ``headway ab`` says what when there is no difference: one version in both arms, live.

    python -m benchmarks.equal_arms --engine simulated --engine llamacpp --repeats 20

Each repeat is one ``headway ab`` in a process of its own, with the next seed, over real HTTP: to
two fresh simulated engines, or in turns to one llama.cpp server with a small model, which takes
every core it finds (needs ``pip install 'headway[llamacpp]'``). ``harm`` is wrong by design and
``pass`` is right; a plan as short as these mostly can't tell. The bound is Clopper and Pearson's,
one-sided 95 %: that many false harms in a hundred are not excluded. An invalid repeat says nothing
of either, and is counted apart. The exit code is 1 where harm is surely called more often than the
bar, or nothing was told.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measurement.proportion import lower_bound, upper_bound
from measurement.verdict import EXIT_CODES

OUTCOMES = {
    EXIT_CODES["regression"]: "harm",
    EXIT_CODES["pass"]: "pass",
    EXIT_CODES["inconclusive"]: "inconclusive",
    EXIT_CODES["invalid"]: "invalid",
}
BROKE = "broke off"
HARM_BAR = 0.06
"""α and one point, as in docs/comparison.md. Without a harm, 49 repeats that tell prove it."""
READY_S, SOON_S = 120.0, 2.0


@dataclass(frozen=True)
class Engine:
    """Who answers, and a load that it serves without strain; ``objectives`` miss now and then."""

    name: str
    rate: float
    prompt_tokens: int
    max_tokens: int
    objectives: tuple[tuple[str, float], ...]


ENGINES = {
    "simulated": Engine("simulated", 8.0, 64, 16, (("ttft_ms", 45.0),)),
    "llamacpp": Engine("llamacpp", 2.0, 16, 2, (("e2e_ms", 700.0),)),
}


@dataclass
class Count:
    """What the repeats of one engine came to."""

    engine: Engine
    outcomes: Counter[str] = field(default_factory=Counter)
    judged: int = 0
    missed: int = 0
    seconds: float = 0.0

    @property
    def told(self) -> int:
        """Repeats with evidence: neither invalid nor broken off."""
        return sum(self.outcomes[name] for name in ("harm", "pass", "inconclusive"))

    @property
    def bound(self) -> float:
        """What share of false harm is not excluded."""
        return upper_bound(self.outcomes["harm"], self.told, 0.95) if self.told else 1.0

    @property
    def surely(self) -> float:
        """What share of false harm is proved."""
        return lower_bound(self.outcomes["harm"], self.told, 0.95) if self.told else 0.0

    def take(self, outcome: str, out: Path) -> str:
        """One repeat's exit code in words, and its result where it left one; says why."""
        self.outcomes[outcome] += 1
        try:
            result = json.loads((out / "result.json").read_text("utf-8"))
        except (OSError, ValueError):
            return "it left no result"
        arms = result["arms"].values()
        self.judged += sum(arm["judged"] for arm in arms)
        self.missed += sum(arm["judged"] - arm["met"] for arm in arms)
        return str(result["stored"]["verdict"]["because"])


def main() -> int:
    """Every engine in turn, each repeat as it ends, then the table."""
    args = _arguments()
    counts = [Count(ENGINES[name]) for name in args.engine or list(ENGINES)]
    with tempfile.TemporaryDirectory(prefix="headway-aa-") as folder:
        for count in counts:
            for repeat in range(args.repeats):
                out = Path(folder) / f"{count.engine.name}-{repeat}"
                began = time.monotonic()
                outcome = _once(count.engine, args, args.seed + repeat, out)
                count.seconds += time.monotonic() - began
                why = count.take(outcome, out)
                print(f"{count.engine.name} {repeat + 1} of {args.repeats}: {why}", flush=True)
    print(_table(counts, args))
    return 0 if all(count.told and count.surely <= HARM_BAR for count in counts) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--engine", action="append", choices=tuple(ENGINES), help="both if not given")
    add("--repeats", type=int, default=20)
    add("--blocks", type=int, default=33, help="planned blocks of each, at least 33")
    add("--block-s", type=float, default=3.0, help="seconds of a slot, a third of it washout")
    add("--policy", default="fixed-64", help="in both arms")
    add("--margin", default="attainment=0.05", help="as headway ab takes it")
    add("--seed", type=int, default=1, help="of the first repeat")
    return parser.parse_args()


def _once(engine: Engine, args: argparse.Namespace, seed: int, out: Path) -> str:
    out.mkdir()
    slo = out / "slo.json"
    slo.write_text(json.dumps(_slo(engine)))
    words = [
        *("--a", args.policy, "--b", args.policy, "--slo", str(slo), "--margin", args.margin),
        *("--rate", str(engine.rate), "--arrivals", "poisson", "--seed", str(seed)),
        *("--prompt-tokens", str(engine.prompt_tokens), "--max-tokens", str(engine.max_tokens)),
        *("--blocks", str(args.blocks), "--block-s", str(args.block_s), "--quiet"),
        *("--out", str(out), "--force"),
    ]
    with ExitStack() as stack:
        if engine.name == "simulated":
            words += ["--where", "engines"]
        else:
            server = stack.enter_context(_llamacpp(out))
            words += ["--where", "switchback", "--endpoint", server]
        ended = subprocess.run(
            [sys.executable, "-m", "headway", "ab", *words],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if ended.returncode not in OUTCOMES:
        print((ended.stdout + ended.stderr)[-2000:], file=sys.stderr)
        return BROKE
    return OUTCOMES[ended.returncode]


def _slo(engine: Engine) -> dict[str, Any]:
    return {
        "apiVersion": "headway/v1",
        "kind": "SLO",
        "metadata": {"name": f"equal-arms-{engine.name}"},
        "spec": {
            "target": 0.9,
            "objectives": [{"metric": name, "max": top} for name, top in engine.objectives],
        },
    }


@contextmanager
def _llamacpp(out: Path) -> Iterator[str]:
    """One fresh server; it is gone afterwards."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with (out / f"llamacpp-{port}.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "headway", "llamacpp", "--port", str(port)],
            stdout=log, stderr=log,
        )  # fmt: skip
        try:
            _wait(url, server)
            yield url
        finally:
            server.terminate()
            server.wait(timeout=30)


def _wait(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        if server.poll() is not None:
            raise SystemExit(
                f"the llama.cpp server ended with code {server.returncode}: install it with "
                "pip install 'headway[llamacpp]', or leave it out with --engine simulated"
            )
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2):  # noqa: S310 - our own http
                return _warm(url, until)
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise SystemExit(f"the llama.cpp server at {url} was not ready within {READY_S:g} s")


def _warm(url: str, until: float) -> None:
    """Its first answers page the model in, and a probe would not wait for those."""
    body = json.dumps({"prompt": "Hello", "max_tokens": 8}).encode()
    asked = urllib.request.Request(  # noqa: S310 - our own http
        f"{url}/v1/completions", body, {"Content-Type": "application/json"}
    )
    took = READY_S
    while time.monotonic() < until:
        began = time.monotonic()
        with urllib.request.urlopen(asked, timeout=READY_S):  # noqa: S310 - the same
            took = time.monotonic() - began
        if took < SOON_S:
            return
    raise SystemExit(
        f"eight tokens of the llama.cpp server take {took:.1f} s, where under {SOON_S:g} s is "
        "needed: this machine is too busy to measure on"
    )


def _table(counts: list[Count], args: argparse.Namespace) -> str:
    title = (
        f"{args.policy} against itself, {args.blocks} blocks of {args.block_s:g} s, margin "
        f"{args.margin}, bar {100 * HARM_BAR:g} % false harm"
    )
    heads = (
        f"{'engine':<12}{'harm':>6}{'pass':>6}{'inconcl.':>10}{'invalid':>9}{'broke off':>11}"
        f"{'harm at most':>14}{'base':>8}{'minutes':>9}"
    )
    lines = [title, heads]
    for count in counts:
        seen, base = count.outcomes, count.missed / count.judged if count.judged else 0.0
        lines.append(
            f"{count.engine.name:<12}{seen['harm']:>6}{seen['pass']:>6}{seen['inconclusive']:>10}"
            f"{seen['invalid']:>9}{seen[BROKE]:>11}{100 * count.bound:>12.1f} %"
            f"{100 * base:>6.1f} %{count.seconds / 60:>9.1f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
