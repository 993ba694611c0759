"""The batching source: batches formed anew at each iteration, with a micro-wait for company."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from loadtest.reproduce import day, day_sums, micro_waits, step_contents
from loadtest.reproduce.curve import Curve, Shade, line
from loadtest.reproduce.plan import MOST_SCALE, Plan, cell, law, measure
from loadtest.reproduce.series import Series, below, best
from loadtest.reproduce.served.experiment import Experiment
from loadtest.reproduce.systems.base import system
from loadtest.reproduce.table import Cell, Finding, Reproduction, Row
from schedulers.decision import DecisionPoint
from simulator.core.config import EngineConfig

BATCH = step_contents.BATCH
SEQUENCES = (64, 128, 256)
CLAIMED_TTFT_MS = 30.0
SCALE = MOST_SCALE
"""How many times shorter than its own an hour of the day is, unless told otherwise: a minute."""
MEASURES = (
    ("ttft", "TTFT, mean", "ms"),
    ("ttft99", "TTFT P99", "ms"),
    ("tpot", "TPOT, mean", "ms"),
    ("output", "output", "tok/s"),
)
Seen = Mapping[str, Series]


def _batching(name: str, **parameters: Any) -> Any:
    return law(DecisionPoint.BATCHING, name, **parameters)


@system
class BatchingSystem:
    """A day of chat, then what the parts of the source's design do each."""

    name: ClassVar[str] = "batching"
    summary: ClassVar[str] = (
        "a day of 24 hours from 2 to 140 chats a second, each hour played as a minute unless "
        "its scale says otherwise, on a 70B model on 8 × A100, as engines were in 2024 "
        "(`llama3-70b-a100-tp8`) and in 2023 (`llama2-70b-a100-tp8-eager`); then what the "
        "micro-wait gains by rate, graphs of two spacings, and prompts whole and in chunks"
    )
    laws: ClassVar[str] = (
        "reference `micro_wait` by the source's rule with 64 sequences, 2,048 tokens and graphs "
        "that double, corrected `tpot_budget`, best fixed `continuous` with 64, 128 or 256 "
        "sequences by the share in time; its other two strategies: `static` with 64, and "
        "`continuous` with its limits and no wait"
    )
    passes: ClassVar[tuple[int, int]] = (30, 20)
    has_day: ClassVar[bool] = True

    served: ClassVar[Experiment] = Experiment(
        arms={
            "reference": {"batching": {"law": "micro_wait", "rule": "reference"}},
            "corrected": {"batching": {"law": "tpot_budget"}},
        }
    )

    def play(self, plan: Plan) -> Reproduction:
        rows, findings = self._claims()
        begun = {name: _begun(plan, profile) for name, profile in day.ENGINES.items()}
        days = {name: _chosen(seen) for name, seen in begun.items()}
        for name, seen in days.items():
            rows += _rows(name, seen)
        findings += _explained(days)
        for part in (micro_waits.play, step_contents.play):
            more, said = part(plan)
            rows += more
            findings += said
        rates = _length(plan).rates
        curves = [curve for name, seen in days.items() for curve in _curves(name, seen, rates)]
        return Reproduction(tuple(rows), tuple(findings), tuple(curves))

    def _claims(self) -> tuple[list[Row], list[Finding]]:
        """A step with one prompt and with four: arithmetic of the profile."""
        config = day.engine(day.ENGINES["2024 engine"])
        steps = {
            (tokens, count): micro_waits.alone_ms(config, tokens, count)
            for tokens in (48, 220)
            for count in (1, 4)
        }
        rows = [
            Row(
                case="a step that prefills",
                measure=f"{count} prompt{'s' * (count > 1)} of {tokens} tokens",
                unit="ms",
                claimed=cell(claimed if tokens == 48 else None),
                optimum=cell(steps[tokens, count], "by the 2024 profile"),
            )
            for tokens in (48, 220)
            for count, claimed in ((1, 15.0), (4, 18.0))
        ]
        sentence = (
            "One prompt in 15 ms and four in 18 can only be of very short ones: by the profile "
            f"four of 48 tokens take {steps[48, 4]:.0f} ms and one {steps[48, 1]:.0f}, of 220 "
            f"tokens {steps[220, 4]:.0f} and {steps[220, 1]:.0f}; 3 ms more are four prompts of "
            f"{_tokens_for(config, 3.0)} tokens."
        )
        held = steps[48, 4] > 1.2 * steps[48, 1] and steps[220, 4] > 2 * steps[220, 1]
        return rows, [Finding(sentence, held)]


def _tokens_for(config: EngineConfig, more_ms: float) -> int:
    """The longest prompt of which four take at most so much longer than one."""
    alone = micro_waits.alone_ms
    return max(n for n in range(1, 400) if alone(config, n, 4) - alone(config, n) <= more_ms)


def _begun(plan: Plan, profile: str) -> dict[str, Seen]:
    """The day under each strategy, and under each of the fixed settings."""
    config = day.engine(profile)
    doubling = step_contents.graphs("doubling", 1.0)
    length = _length(plan)

    def seen(tested: Any, graphs: Any = None) -> Mapping[str, Series]:
        strategy = day_sums.Strategy(tested, graphs)
        return measure(plan, partial(_told, length, plan.part, strategy, config))

    sizes = SEQUENCES[-1:] if plan.reduced else SEQUENCES
    fixed = {f"fixed {n}": seen(_batching("continuous", max_sequences=n)) for n in sizes}
    return {
        **fixed,
        "micro-wait": seen(micro_waits.rule("reference", config), doubling),
        "static": seen(_batching("static", size=BATCH)),
        "no wait": seen(_batching("continuous", max_sequences=BATCH), doubling),
        "ours": seen(_batching("tpot_budget")),
    }


def _chosen(seen: Mapping[str, Seen]) -> dict[str, Seen]:
    """Of the fixed settings the best alone, after the others."""
    fixed = {name: one for name, one in seen.items() if name.startswith("fixed")}
    chosen = best(fixed, "in time")
    rest = {name: one for name, one in seen.items() if name not in fixed}
    return {**rest, chosen: fixed[chosen]}


def _length(plan: Plan) -> day.Day:
    """24 hours, each played as a part of one; a few short ones at reduced size."""
    if plan.reduced:
        return day.Day(day.FEW_HOURS, 6.0)
    return day.Day(hour_s=day.REAL_HOUR_S / (plan.scale or SCALE))


def _told(
    a_day: day.Day,
    part: Callable[[float], None],
    strategy: day_sums.Strategy,
    config: EngineConfig,
    seed: int,
) -> dict[str, float]:
    told = day_sums.play(a_day, a_day.drawn(seed), strategy, config, seed, part)
    ingest = config.ingest_s * math.exp(config.ingest_sigma**2 / 2)
    return told | {"alone": 1e3 * ingest + micro_waits.alone_ms(config)}


def _curves(name: str, seen: Mapping[str, Seen], rates: Sequence[float]) -> list[Curve]:
    """By the hour; overload is shaded."""
    fixed = next(key for key in seen if key.startswith("fixed"))
    over = day.REGIMES["overload"][0]
    return [
        Curve(
            case=name,
            measure=measured,
            unit=unit,
            along="hour",
            x=tuple(map(float, range(len(rates)))),
            lines=tuple(
                line(head, seen[key], f"hour {measure_of}", len(rates), note)
                for head, key, note in (
                    ("reference law", "micro-wait", ""),
                    ("corrected law", "ours", ""),
                    ("best fixed setting", fixed, f"{fixed.removeprefix('fixed ')} sequences"),
                )
            ),
            shades=tuple(
                Shade(at - 0.5, at + 0.5, f"{rate:g}/s")
                for at, rate in enumerate(rates)
                if rate >= over
            ),
        )
        for measure_of, measured, unit in (
            ("ttft", "TTFT, mean by hour of arrival", "ms"),
            ("in time", "in time, of arrivals", "%"),
        )
    ]


def _rows(name: str, seen: Mapping[str, Seen]) -> list[Row]:
    fixed = next(key for key in seen if key.startswith("fixed"))
    own, ours, settled = seen["micro-wait"], seen["ours"], seen[fixed]
    rows = [
        Row(
            case=f"{name}, {regime}",
            measure=measured,
            unit=unit,
            claimed=cell("under 30") if (regime, key) == ("light", "ttft") else None,
            reference=cell(own[f"{regime} {key}"]),
            corrected=cell(ours[f"{regime} {key}"]),
            best_fixed=cell(
                settled[f"{regime} {key}"], f"{fixed.removeprefix('fixed ')} sequences"
            ),
            optimum=_optimum(own, regime, key),
        )
        for regime in day.REGIMES
        for key, measured, unit in MEASURES
    ]
    rows.append(
        Row(
            case=f"{name}, whole day",
            measure="in time, of arrivals",
            unit="%",
            reference=cell(own["in time"]),
            corrected=cell(ours["in time"]),
            best_fixed=cell(settled["in time"], f"{fixed.removeprefix('fixed ')} sequences"),
        )
    )
    for other in ("static", "no wait"):
        rows += _other_rows(f"{name}, {other}", seen[other])
    return rows


def _other_rows(case: str, seen: Seen) -> list[Row]:
    rows = [
        Row(
            case=case,
            measure=f"{regime}: {measured}",
            unit=unit,
            reference=cell(seen[f"{regime} {key}"]),
        )
        for regime in day.REGIMES
        for key, measured, unit in MEASURES
        if key != "ttft99"
    ]
    whole = Row(
        case=case, measure="in time, of arrivals", unit="%", reference=cell(seen["in time"])
    )
    return [*rows, whole]


def _optimum(seen: Seen, regime: str, key: str) -> Cell | None:
    if (regime, key) == ("light", "ttft"):
        return cell(seen["alone"].mean, "alone")
    if key == "output" and regime != "overload":
        return cell(seen[f"{regime} offered"], "offered")
    return None


def _explained(days: Mapping[str, Mapping[str, Seen]]) -> list[Finding]:
    """What the day shows."""
    newer, older = days["2024 engine"], days["2023 engine"]
    own, plain, static, ours = (newer[name] for name in ("micro-wait", "no wait", "static", "ours"))
    fixed = next(key for key in newer if key.startswith("fixed"))
    light = own["light ttft"]
    gap = abs(own["steady ttft"].mean / plain["steady ttft"].mean - 1)
    old = older["micro-wait"]
    return [
        Finding(
            f"Under 30 ms to the first token isn't had even under 5 requests a second: it is "
            f"{light.mean:.0f} ms, as a chat alone in the engine takes {own['alone'].mean:.0f}, "
            "and one that comes while others decode waits for the step that runs to end.",
            below(Series(tuple(CLAIMED_TTFT_MS for _ in light.values)), light),
        ),
        Finding(
            "In the day waiting makes no difference, as somebody decodes nearly always: steady "
            f"{own['steady ttft'].mean:.1f} ms to the first token with it, "
            f"{plain['steady ttft'].mean:.1f} without.",
            gap < 0.02,
        ),
        Finding(
            f"A batch that begins and ends together does {static['overload output'].mean:,.0f} "
            f"tokens a second in overload, {own['overload output'].mean:,.0f} with who comes "
            "joining at each iteration; steady its first tokens take "
            f"{static['steady ttft'].mean:,.0f} ms.",
            below(static["overload output"], own["overload output"], times=2)
            and below(own["steady ttft"], static["steady ttft"], times=5),
        ),
        Finding(
            f"What holds the source's law back in overload is its batch of {BATCH}: "
            f"{own['overload ttft'].mean:,.0f} ms to the first token while memory is free; "
            f"`tpot_budget` fills the step to the objective for a token and takes "
            f"{ours['overload ttft'].mean:,.0f}, with {ours['in time'].mean:.1f} % of the day in "
            f"time against {own['in time'].mean:.1f} (a fixed {fixed.removeprefix('fixed ')}: "
            f"{newer[fixed]['in time'].mean:.1f}).",
            below(ours["overload ttft"], own["overload ttft"], times=3)
            and below(own["in time"], ours["in time"]),
        ),
        Finding(
            "The rates of the regimes are those of one engine: the older one, whose step takes "
            f"{old['light tpot'].mean:.0f} ms at its emptiest, is overloaded where the source says "
            f"steady ({old['steady output'].mean:,.0f} of {old['steady offered'].mean:,.0f} tokens "
            f"a second), and a wait of 3 ms is nothing to it.",
            below(old["steady output"], old["steady offered"], times=1.05),
        ),
    ]
