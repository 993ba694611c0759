"""The queueing source's sweep: its limits and its objectives on the engine model, 2 to 40 a second.

Its configuration: 4,096 tokens a step, 32 sequences, 800 ms to the first token, 100 ms a token,
Poisson, answers lognormal (6.0, 0.6). Prompts are ours: 220 tokens in the mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from loadtest.reproduce import little
from loadtest.reproduce.curve import Curve, Line
from loadtest.reproduce.plan import Plan, cell, law, measure
from loadtest.reproduce.series import Series, below, best
from loadtest.reproduce.table import Finding, Row
from schedulers.concurrency.base import LIMIT_CEILING
from schedulers.decision import DecisionPoint
from simulator.core.config import EngineConfig
from simulator.plants import engine
from simulator.profile import DEFAULT, load

SEQUENCES, TOKENS = 32, 4096
SIZES = (32, 64, 128, 256)
RATES = (2.0, 3.0, 5.0, 10.0, 20.0, 40.0)
CHAT = engine.Chat(output=483.0, output_sigma=0.6)
TARGET = 0.99
OPERATING_QPS = 20.0
Sweep = Mapping[float, Mapping[str, Series]]


def _config(sequences: int) -> EngineConfig:
    return replace(load(DEFAULT).config(), max_seqs=sequences, token_budget=TOKENS)


def _played(config: EngineConfig, rate: float, end_s: float, seed: int) -> dict[str, float]:
    """Attainment of what arrived in the first four fifths of the time, two ways; and Little's law
    from one fifth to four."""
    free: Any = law(DecisionPoint.CONCURRENCY, "fixed", size=LIMIT_CEILING)
    seen = engine.play(free, config, rate=rate, end_s=end_s, seed=seed, chat=CHAT)
    end = 0.8 * end_s
    done = [
        one for one in seen.played if one.sequence.emitted == one.sequence.request.output_tokens
    ]
    told = [one.good for one in done if one.offered_at < end]
    ends = [one.sequence.last_token_at or 0.0 for one in done]
    residence = sorted(
        last - one.offered_at for one, last in zip(done, ends, strict=True) if one.offered_at < end
    )
    stays = [(one.offered_at, _left_at(one)) for one in seen.played]
    return little.counted(stays, 0.2 * end_s, end) | {
        "arrivals": 100.0 * seen.attained(0.0, end),
        "answered": 100.0 * sum(told) / max(1, len(told)),
        "rate": sum(0.2 * end_s <= at for at in ends) / (0.8 * end_s),
        "p95_s": residence[int(0.95 * len(residence))] if residence else 0.0,
    }


def _left_at(one: engine.Played) -> float:
    """Infinity while it is inside."""
    over = one.sequence.emitted == one.sequence.request.output_tokens
    return (one.sequence.last_token_at or math.inf) if over else math.inf


def _sweep(plan: Plan, sequences: int) -> dict[float, Mapping[str, Series]]:
    config, end_s = _config(sequences), 120.0 if plan.reduced else 300.0
    rates = (2.0, 20.0) if plan.reduced else RATES
    return {rate: measure(plan, partial(_played, config, rate, end_s)) for rate in rates}


def knee(config: EngineConfig, chat: engine.Chat = CHAT) -> float:
    """Requests a second with every place taken: each costs its tokens' share of full steps, and
    what its prompt adds to one of them."""
    n, cost = config.max_seqs, config.cost
    context = n * (chat.prompt + chat.output / 2)
    step = cost.seconds(n, int(context), n, 0.0)
    with_prompt = cost.seconds(n + int(chat.prompt), int(context), n, chat.prompt**2 / 2)
    return 1.0 / (chat.output * step / n + with_prompt - step)


def most_within(config: EngineConfig) -> int:
    """Sequences that memory holds and whose steps are no longer than the objective for a token."""
    mean = CHAT.prompt + CHAT.output / 2
    held = int(config.blocks * config.block_size / mean)
    fits = (
        n for n in range(held, 0, -1)
        if config.cost.seconds(n, int(n * mean), n, 0.0) <= engine.TPOT_S
    )  # fmt: skip
    return next(fits, 0)


def play(plan: Plan) -> tuple[list[Row], list[Finding], list[Curve]]:
    """The sweep with 32 sequences, counted both ways; and with the best number of them."""
    sizes = (32, 256) if plan.reduced else SIZES
    sweeps = {size: _sweep(plan, size) for size in sizes}
    own = sweeps[SEQUENCES]
    rows = []
    for rate, seen in own.items():
        chosen = best({str(size): sweeps[size][rate] for size in sizes}, "arrivals")
        rows.append(
            Row(
                case=f"{rate:g} requests/s",
                measure="in time",
                unit="%",
                claimed=cell(100 * TARGET) if rate == OPERATING_QPS else None,
                reference=cell(seen["answered"], "of answers"),
                corrected=cell(seen["arrivals"], "of arrivals"),
                best_fixed=cell(
                    sweeps[int(chosen)][rate]["arrivals"], f"of arrivals, {chosen} sequences"
                ),
            )
        )
    rows += [row for rate, seen in own.items() for row in little.rows_of(rate, seen)]
    rows += _capacity_rows(own)
    return rows, _explained(own), [_curve(sweeps)]


def _curve(sweeps: Mapping[int, Sweep]) -> Curve:
    """The knee: what is in time by rate."""
    own, largest = sweeps[SEQUENCES], max(sweeps)

    def line(head: str, seen: Sweep, key: str, note: str) -> Line:
        return Line(head, tuple(numbers[key] for numbers in seen.values()), note)

    return Curve(
        case="the sweep",
        measure="in time",
        unit="%",
        along="requests/s",
        x=tuple(own),
        lines=(
            line("reference law", own, "answered", "of answers"),
            line("corrected law", own, "arrivals", "of arrivals"),
            line("best fixed setting", sweeps[largest], "arrivals", f"{largest} sequences"),
        ),
    )


def _capacity_rows(own: Sweep) -> list[Row]:
    config, top, low = _config(SEQUENCES), max(own), min(own)
    alone = config.cost.seconds(1, int(CHAT.prompt), 1, 0.0)
    return [
        Row(
            case="32 sequences",
            measure="answers at most",
            unit="a second",
            reference=cell(own[top]["rate"]),
            optimum=cell(knee(config), "n / E[O]·τ(n)"),
        ),
        Row(
            case="32 sequences",
            measure=f"P95 end to end at {low:g}/s",
            unit="s",
            claimed=cell(2.0),
            reference=cell(own[low]["p95_s"]),
        ),
        Row(
            case="100 ms a token",
            measure="sequences at once",
            claimed=cell(engine.TPOT_S / alone, "v·TPOT"),
            optimum=cell(float(most_within(config)), "τ(n) ≤ TPOT, and memory"),
        ),
    ]


def _explained(own: Sweep) -> list[Finding]:
    config, top, low = _config(SEQUENCES), max(own), min(own)
    at, seen = knee(config), own[top]["rate"]
    answered, arrived = own[top]["answered"], own[top]["arrivals"]
    slow = own[low]["p95_s"]
    return [
        Finding(
            f"With 32 sequences this engine answers {seen.mean:.1f} requests a second at most; "
            f"n / (E[O]·τ(n)) says {at:.1f}. The configuration's own 20 a second is "
            f"{OPERATING_QPS / at:.1f} times that: its sweep has its knee before its first step.",
            abs(seen.mean / at - 1) < 0.15 and at < 5.0,
        ),
        Finding(
            f"Counted over answers alone, overload looks better than it is: at {top:g} a second "
            f"{answered.mean:.1f} % against {arrived.mean:.1f} % of arrivals.",
            below(arrived, answered),
        ),
        Finding(
            "2 s end to end at P95 and answers of 483 tokens cannot both be held: even at "
            f"{low:g} a second, with {own[low]['arrivals'].mean:.0f} % in time by TTFT and TPOT, "
            f"P95 is {slow.mean:.0f} s.",
            min(slow.values) > 2.0,
        ),
        little.explained(own, knee(config)),
    ]
