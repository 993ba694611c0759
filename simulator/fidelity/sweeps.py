"""Published sweeps of real engines in a closed loop, and the model at the same points.

``published.csv`` holds what was measured: 165 points of aisimulate's ``silicon_sample.csv`` (wheel
0.13.0.dev202610270000000085, Apache-2.0), rounded to 0.1 ms of TTFT and 0.01 ms of TPOT. The
profiles were fitted to most of them, by a steady-state formula; here the whole loop runs.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

from simulator import profile as profiles
from simulator.fidelity.check import Check
from simulator.fidelity.closed_loop import Measured, play

BARS = {"qwen3": 0.05, "llama3.1": 0.07, "deepseek": 0.10}
"""Mean TPOT error, by what a profile's name begins with."""
KNEE_PROFILE = "qwen3-32b-h100-tp2"
KNEE_LENGTHS = (4096, 1024)
KNEE_TTFT_BAR = 0.30
STALLED_MS = 4_000.0
"""A mean TTFT above this is a queue for memory, not a slow prefill."""
ROUNDS = 10
"""Requests for each user, as load generators mostly do; the sweep doesn't say its own number."""
_FOUND = "aisimulate silicon_sample.csv"


@dataclass(frozen=True, slots=True)
class Point:
    """One published point: lengths in tokens, means in milliseconds."""

    profile: str
    prompt_tokens: int
    output_tokens: int
    concurrency: int
    ttft_ms: float
    tpot_ms: float

    @property
    def memory_bound(self) -> bool:
        """Outside what the profiles were fitted to: requests wait for memory."""
        return self.ttft_ms > STALLED_MS or self.tpot_ms > 150.0


@cache
def points() -> tuple[Point, ...]:
    """All of them."""
    text = resources.files("simulator.fidelity").joinpath("published.csv").read_text("utf-8")
    return tuple(
        Point(
            row["profile"],
            int(row["prompt_tokens"]),
            int(row["output_tokens"]),
            int(row["concurrency"]),
            float(row["ttft_ms"]),
            float(row["tpot_ms"]),
        )
        for row in csv.DictReader(text.splitlines())
    )


def model(point: Point, rounds: int = ROUNDS) -> Measured:
    """What the model says of it."""
    return play(
        profiles.load(point.profile).config(),
        prompt_tokens=point.prompt_tokens,
        output_tokens=point.output_tokens,
        concurrency=point.concurrency,
        rounds=rounds,
    )


def tpot_checks(rounds: int = ROUNDS) -> Iterator[Check]:
    """One for each profile with published points: the mean error of TPOT."""
    for name in dict.fromkeys(point.profile for point in points()):
        bar = next(bar for begin, bar in BARS.items() if name.startswith(begin))
        inside = [each for each in points() if each.profile == name and not each.memory_bound]
        errors = [abs(model(each, rounds).tpot_ms / each.tpot_ms - 1) for each in inside]
        more = f"{len(inside)} points, worst {max(errors):.1%}"
        yield Check(f"TPOT, {name}", _FOUND, sum(errors) / len(errors), bar, more)


def knee_checks() -> Iterator[Check]:
    """Where memory ends: the first concurrency with a stalled TTFT, and how long it is there."""
    ladder = sorted(
        (
            each
            for each in points()
            if each.profile == KNEE_PROFILE
            and (each.prompt_tokens, each.output_tokens) == KNEE_LENGTHS
        ),
        key=lambda each: each.concurrency,
    )
    modelled = [model(each).ttft_ms for each in ladder]
    real = next(at for at, each in enumerate(ladder) if each.ttft_ms > STALLED_MS)
    ours = next((at for at, ttft in enumerate(modelled) if ttft > STALLED_MS), len(ladder))
    lengths = "/".join(map(str, KNEE_LENGTHS))
    found = ladder[min(ours, len(ladder) - 1)].concurrency
    yield Check(
        f"knee of memory, {KNEE_PROFILE}, {lengths}",
        _FOUND,
        float(abs(ours - real)),
        1.0,
        f"steps of the ladder; real at {ladder[real].concurrency}, model at {found}",
    )
    last = ladder[-1]
    yield Check(
        f"TTFT beyond the knee, {last.concurrency} at once",
        _FOUND,
        abs(modelled[-1] / last.ttft_ms - 1),
        KNEE_TTFT_BAR,
        f"real {last.ttft_ms / 1e3:.1f} s, model {modelled[-1] / 1e3:.1f} s",
    )
