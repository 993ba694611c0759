"""The model against the public traces: a real engine's log, and what a prefix cache could find."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from loadtest.traces.base import Traced, read_trace
from loadtest.traces.contents import content_of
from simulator import profile as profiles
from simulator.core.config import EngineConfig
from simulator.core.cost import StepCost
from simulator.core.step import Step
from simulator.fidelity.check import Check
from simulator.virtual import Arrival, Served, replay

LOG = "vllm-measured/rtxpro6000-llama31-8b-requests.jsonl"
SERIES = "vllm-measured/rtxpro6000-llama31-8b-timeseries.csv"
LOG_PROFILE = "llama3.1-8b-rtxpro6000-tp1"
PREFIXES = "mooncake-fast25/conversation_trace.jsonl"
_REAL = "a vLLM 0.19 log (LLMServingSim, MIT)"


def load_of(trace: list[Traced]) -> list[Arrival]:
    """The trace as a replay takes it."""
    return [
        Arrival(each.at, each.prompt_tokens, each.output_tokens, content=content_of(each, place))
        for place, each in enumerate(trace)
    ]


def log_checks(folder: Path) -> Iterator[Check]:
    """Mean and P99 of TTFT, TPOT and E2E of a log that half fitted the profile."""
    trace = read_trace(folder / LOG)
    served = replay(load_of(trace), profiles.load(LOG_PROFILE))
    for name, real, ours in latencies(trace, served):
        for what, bar in (("mean", 0.03), ("P99", 0.06)):
            pair = [
                float(np.mean(each)) if what == "mean" else float(np.quantile(each, 0.99))
                for each in (real, ours)
            ]
            yield Check(
                f"{what} {name}",
                _REAL,
                abs(pair[1] / pair[0] - 1),
                bar,
                f"real {1e3 * pair[0]:,.1f} ms, model {1e3 * pair[1]:,.1f} ms",
            )


def latencies(
    trace: list[Traced], served: list[Served]
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """TTFT, TPOT and E2E in seconds: measured and modelled, of the requests that have both."""
    pairs = [
        (each.measured, ours, each.output_tokens)
        for each, ours in zip(trace, served, strict=True)
        if each.measured is not None and ours.finished
    ]
    real_ttft = np.array([real.ttft for real, _, _ in pairs])
    real_e2e = np.array([real.e2e for real, _, _ in pairs])
    ttft = np.array([ours.ttft for _, ours, _ in pairs], dtype=float)
    e2e = np.array([ours.e2e for _, ours, _ in pairs], dtype=float)
    tokens = np.array([output for _, _, output in pairs])
    several = tokens > 1
    gaps = np.maximum(1, tokens[several] - 1)
    yield "TTFT", real_ttft, ttft
    yield "TPOT", (real_e2e - real_ttft)[several] / gaps, (e2e - ttft)[several] / gaps
    yield "E2E", real_e2e, e2e


def series_checks(folder: Path) -> Iterator[Check]:
    """What the engine said of itself once a second: RMSE as a share of the range."""
    with (folder / SERIES).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    steps: list[Step] = []
    config = profiles.load(LOG_PROFILE).config()
    replay(load_of(read_trace(folder / LOG)), config, on_step=steps.append)
    ends = np.array([step.end for step in steps])
    places = np.minimum(np.searchsorted(ends, [float(row["t"]) for row in rows]), len(steps) - 1)
    usable = config.blocks - 1
    for name, ours in (
        ("running", np.array([float(step.running) for step in steps])),
        ("waiting", np.array([float(step.waiting) for step in steps])),
        ("kv_cache_pct", np.array([100.0 * step.used_blocks / usable for step in steps])),
    ):
        real = np.array([float(row[name]) for row in rows])
        rmse = float(np.sqrt(np.mean((ours[places] - real) ** 2)))
        span = float(real.max() - real.min())
        if not span:  # never recorded, as this log's KV use: nothing to compare with
            continue
        yield Check(f"{name} at 1 Hz, RMSE of the range", _REAL, rmse / span, 0.10)


def prefix_check(folder: Path) -> Check:
    """Tokens found with memory for all, one request at a time, against a count of names."""
    trace = read_trace(folder / PREFIXES)
    found = sum(each.cached_tokens for each in replay(alone(trace), boundless(trace)))
    counted = brute_force(trace)
    asked = sum(each.prompt_tokens for each in trace)
    return Check(
        "tokens that a prefix cache without end finds",
        "a count of Mooncake's block names",
        float(abs(found - counted)),
        0.0,
        f"{found:,} of {asked:,} tokens ({found / asked:.1%}); counted {counted:,}",
    )


def alone(trace: list[Traced]) -> list[Arrival]:
    """The requests in their order, none beside another."""
    return [
        Arrival(1e4 * place, each.prompt_tokens, 1, content=content_of(each, place))
        for place, each in enumerate(trace)
    ]


def boundless(trace: list[Traced]) -> EngineConfig:
    """An engine with memory for all of it, in blocks as large as the trace's pieces."""
    size = trace[0].prefix_size
    longest = max(each.prompt_tokens for each in trace) + 1
    return EngineConfig(
        cost=StepCost(t0_ms=1.0, t_w_ms=0.0, t_c_ms=0.0, t_kv_ms=0.0, t_s_ms=0.0, t_a_ms=0.0),
        blocks=2 + sum(each.prompt_tokens // size + 2 for each in trace),
        block_size=size,
        token_budget=max(8192, longest),
        max_model_len=longest + 1,
        ingest_s=0.0,
    )


def brute_force(trace: list[Traced]) -> int:
    """The same without the model: how many of a prompt's blocks came before it, in a row.

    Mooncake's names stand for a block and all before it, so a name that was seen is a prefix that
    was. Blocks that aren't whole are never found, nor is a whole prompt.
    """
    seen: set[int] = set()
    total = 0
    for each in trace:
        names, size = each.prefix_ids or (), each.prefix_size
        most = (each.prompt_tokens - 1) // size
        hits = next((at for at, name in enumerate(names[:most]) if name not in seen), most)
        total += hits * size
        seen.update(names[: each.prompt_tokens // size])
    return total
