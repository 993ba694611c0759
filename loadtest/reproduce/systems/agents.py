"""The agents source: batch agents with growing contexts, admitted by a congestion signal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from loadtest.reproduce import agent_models
from loadtest.reproduce.curve import Curve, line, mean_in, points
from loadtest.reproduce.plan import Plan, cell, law, measure
from loadtest.reproduce.series import Series, below, best
from loadtest.reproduce.served.experiment import Experiment
from loadtest.reproduce.systems.base import system
from loadtest.reproduce.table import Finding, Reproduction, Row
from schedulers.decision import DecisionPoint
from simulator.plants.agents import AgentsRun

AGENTS = 100
FIXED = (16, 20, 24, 28, 32)
FREE_S, END_S = 120.0, 600.0
"""Collapse: everybody runs free until then; and where it is no longer watched."""
CLAIMED = {"speed_up": 4.09, "kv": 75.0, "again": 8.0}
FOURTHS = (
    ("first", 1150.0, 1200.0), ("second", 680.0, 1180.0), ("third", 290.0, 1160.0),
    ("last", 180.0, 1150.0),
)  # fmt: skip
"""The source's four rounds: tok/s without control, and with it."""
MEASURES = (
    ("rate", "output", "tok/s"),
    ("speed_up", "over no control", "times"),
    ("hit", "prefix cache hits", "%"),
    ("again", "recomputed prompt tokens", "%"),
    ("kv", "KV cache in use, mean", "%"),
)
EDGES = tuple(15.0 * i for i in range(81))
"""Seconds between which a curve has a mean: the first 20 minutes."""
SIGNALS = (
    ("kv", "its signal: KV cache in use", "%"),
    ("active", "agents that are active", "agents"),
    ("said", "output", "tok/s"),
)
COLLAPSE = (
    ("back_s", "until 90 % of its own from cold", "s"),
    ("limit", "limit at the end", "agents"),
)
Numbers = Mapping[str, Series]


def _law(name: str, **parameters: Any) -> Any:
    return law(DecisionPoint.CONCURRENCY, name, **parameters)


def _played(tested: Any, agents: int, end_s: float, seed: int) -> dict[str, float]:
    """A batch from cold to the last agent's end, or until then."""
    run = AgentsRun(tested, seed, agents=agents)
    run.go(end_s)
    total = run.total
    numbers = {
        "rate": total.said / run.now,
        "hit": 100.0 * total.hit / total.prompt,
        "again": 100.0 * total.again / total.prompt,
        "kv": 100.0 * sum(run.kv_at) / len(run.kv_at),
    }
    for i, (name, _, _) in enumerate(FOURTHS):
        numbers[name] = _said(run, run.now * i / 4, run.now * (i + 1) / 4)
        part = slice(len(run.kv_at) * i // 4, len(run.kv_at) * (i + 1) // 4)
        numbers[f"kv {name}"] = 100.0 * float(np.mean(run.kv_at[part]))
        numbers[f"active {name}"] = float(np.mean(run.active_at[part]))
    at = [moment for moment, _ in run.said_at]
    kv = mean_in(at, [100.0 * share for share in run.kv_at], EDGES)
    said = [_said(run, *span) if span[1] <= run.now else math.inf for span in _spans()]
    return (
        numbers
        | points("kv", kv)
        | points("active", mean_in(at, run.active_at, EDGES))
        | points("said", said)
    )


def _spans() -> list[tuple[float, float]]:
    return list(pairwise(EDGES))


def _said(run: AgentsRun, start: float, end: float) -> float:
    """Output tokens a second in a span."""
    upto = [(at, said) for at, said in run.said_at if start <= at <= end]
    return (upto[-1][1] - upto[0][1]) / (upto[-1][0] - upto[0][0]) if len(upto) > 1 else 0.0


def _recovery(tested: Any, seed: int) -> dict[str, float]:
    """Seconds of the law until 40 s reach 90 % of what it does from cold; infinity if never."""
    cold, run = AgentsRun(tested, seed), AgentsRun(tested, seed, free_until=FREE_S)
    for each in (cold, run):
        each.go(END_S)
    wanted = 0.9 * _said(cold, 2 * FREE_S, END_S)
    spans = range(int(FREE_S), int(END_S) - 40, 5)
    back = (at - FREE_S for at in spans if _said(run, at, at + 40.0) >= wanted)
    return {"back_s": next(back, math.inf), "limit": float(run.limit)}


@system
class AgentsSystem:
    """100 agents from cold and after a collapse, the rounds, and growth from 20 to 100."""

    name: ClassVar[str] = "agents"
    summary: ClassVar[str] = (
        "100 agents of about 20 turns before a KV cache of 400,000 tokens, from cold to the last "
        "one's end; the same after 120 s of collapse; then 20 to 80 agents; then 100 before the "
        "source's three models"
    )
    laws: ClassVar[str] = (
        "reference `concur_reference` (by the source's code), corrected `kv_reserve_agents`, best "
        "fixed count of 16, 20, 24, 28, 32"
    )
    passes: ClassVar[tuple[int, int]] = (58, 17)
    has_day: ClassVar[bool] = False

    served: ClassVar[Experiment] = Experiment(
        why_not="a load test sends single requests; it has no agents whose contexts grow from turn "
        "to turn, and no tool waits between them"
    )

    def play(self, plan: Plan) -> Reproduction:
        seen = self._laws(plan, AGENTS)
        rows = [*self._main(seen), *self._others(seen), *self._rounds(seen), *self._signal(seen)]
        findings = _explained(seen)
        for part in (self._collapse, self._growth, _models):
            more, said = part(plan)
            rows += more
            findings += said
        return Reproduction(tuple(rows), tuple(findings), tuple(_curves(seen)))

    def _laws(self, plan: Plan, agents: int) -> dict[str, Numbers]:
        """Numbers by law; "fixed" is the best of the fixed counts."""
        tested = {
            "none": _law("fixed", size=agents),
            "code": _law("concur_reference"),
            "formula": _law("concur_reference", congestion="formula"),
            "paper": _law("concur"),
            "ours": _law("kv_reserve_agents"),
        }
        counts = (24, 28) if plan.reduced else FIXED
        tested |= {str(count): _law("fixed", size=count) for count in counts if count <= agents}
        seen = {name: self._one(plan, one, agents) for name, one in tested.items()}
        fixed = {name: seen.pop(name) for name in list(seen) if name.isdigit()}
        chosen = best(fixed, "rate") if fixed else "all"
        return {**seen, "fixed": fixed.get(chosen, seen["none"]), f"best {chosen}": {}}

    def _one(self, plan: Plan, tested: Any, agents: int) -> Mapping[str, Series]:
        end_s = 500.0 if plan.reduced else 20_000.0
        return measure(plan, partial(_played, tested, agents, end_s))

    def _main(self, seen: Mapping[str, Numbers]) -> list[Row]:
        return [
            Row(
                case="100 agents",
                measure=words,
                unit=unit,
                claimed=cell(CLAIMED.get(key)),
                reference=cell(_told(seen, "code", key)),
                corrected=cell(_told(seen, "ours", key)),
                best_fixed=cell(_told(seen, "fixed", key), _chosen(seen)),
            )
            for key, words, unit in MEASURES
        ]

    def _others(self, seen: Mapping[str, Numbers]) -> list[Row]:
        cases = (("no control", "none"), ("its formula", "formula"), ("the paper's law", "paper"))
        claimed = {"none": {"kv": 95.0, "again": 41.0}}
        return [
            Row(
                case=case,
                measure=words,
                unit=unit,
                claimed=cell(claimed.get(name, {}).get(key)),
                reference=cell(_told(seen, name, key)),
            )
            for case, name in cases
            for key, words, unit in MEASURES
            if (name, key) != ("none", "speed_up")
        ]

    def _rounds(self, seen: Mapping[str, Numbers]) -> list[Row]:
        rows = []
        for name, free, held in FOURTHS:
            claimed = f"{held:,.0f} ({free:,.0f} without control)"
            rows.append(
                Row(
                    case="by fourths of the run",
                    measure=name,
                    unit="tok/s",
                    claimed=cell(claimed),
                    reference=cell(seen["code"][name]),
                    corrected=cell(seen["ours"][name]),
                    best_fixed=cell(seen["fixed"][name], _chosen(seen)),
                )
            )
        return rows

    def _signal(self, seen: Mapping[str, Numbers]) -> list[Row]:
        """What the law goes by and what it makes of it, over the run; the source shows a plot."""
        return [
            Row(
                case=case,
                measure=f"{name} fourth of the run",
                unit=unit,
                reference=cell(seen["code"][f"{key} {name}"]),
                corrected=cell(seen["ours"][f"{key} {name}"]),
                best_fixed=cell(seen["fixed"][f"{key} {name}"], _chosen(seen)),
            )
            for case, key, unit in (
                ("its signal: KV cache in use", "kv", "%"),
                ("agents that are active", "active", ""),
            )
            for name, _, _ in FOURTHS
        ]

    def _collapse(self, plan: Plan) -> tuple[list[Row], list[Finding]]:
        own, ours = (
            measure(plan, partial(_recovery, _law(one)))
            for one in ("concur_reference", "kv_reserve_agents")
        )
        rows = [
            Row(
                case="after a collapse",
                measure=words,
                unit=unit,
                reference=cell(own[key]),
                corrected=cell(ours[key]),
            )
            for key, words, unit in COLLAPSE
        ]
        seeds, never = len(plan.seeds), sum(map(math.isinf, own["back_s"].values))
        sentence = (
            "After 120 s of collapse the corrected law is back at 90 % of its own rate with every "
            f"seed, after {ours['back_s'].mean:.0f} s, and lets {ours['limit'].mean:.0f} agents "
            "run; the reference law cuts each round while idle contexts keep the cache full, ends "
            f"with a limit of {own['limit'].mean:.0f}, and is not back within "
            f"{END_S - FREE_S:.0f} s with {never} of {seeds} seeds."
        )
        held = math.isfinite(ours["back_s"].mean) and 2 * never > seeds
        return rows, [Finding(sentence, held and below(own["limit"], ours["limit"]))]

    def _growth(self, plan: Plan) -> tuple[list[Row], list[Finding]]:
        counts = (20,) if plan.reduced else (20, 40, 60, 80)
        seen = {count: self._laws(plan, count) for count in counts}
        rows = [
            Row(
                case=f"{count} agents",
                measure="over no control",
                unit="times",
                reference=cell(_told(numbers, "code", "speed_up")),
                corrected=cell(_told(numbers, "ours", "speed_up")),
                best_fixed=cell(_told(numbers, "fixed", "speed_up"), _chosen(numbers)),
            )
            for count, numbers in seen.items()
        ]
        gain = _told(seen[20], "ours", "speed_up")
        sentence = (
            "Where all contexts fit, control has nothing to gain: with 20 agents the corrected law "
            f"does {gain.mean:.2f} times what no control does."
        )
        return rows, [Finding(sentence, 0.9 <= gain.mean <= 1.1)]


def _curves(seen: Mapping[str, Numbers]) -> list[Curve]:
    """What the law goes by, what it makes of it, and what comes of that."""
    count = len(EDGES) - 1
    laws = (
        ("", "none", "no control"),
        ("reference law", "code", ""),
        ("corrected law", "ours", ""),
        ("best fixed setting", "fixed", _chosen(seen)),
    )
    return [
        Curve(
            case="100 agents",
            measure=measured,
            unit=unit,
            along="s",
            x=EDGES[:-1],
            lines=tuple(line(head, seen[name], key, count, note) for head, name, note in laws),
        )
        for key, measured, unit in SIGNALS
    ]


def _models(plan: Plan) -> tuple[list[Row], list[Finding]]:
    return agent_models.play(plan, AGENTS)


def _told(seen: Mapping[str, Numbers], name: str, key: str) -> Series:
    """A law's number, or how many times no control's output it has."""
    if key == "speed_up":
        return seen[name]["rate"].over(seen["none"]["rate"])
    return seen[name][key]


def _chosen(seen: Mapping[str, Numbers]) -> str:
    return next(name for name in seen if name.startswith("best ")).removeprefix("best ")


def _explained(seen: Mapping[str, Numbers]) -> list[Finding]:
    """Speed-up, the source's two signals, the paper's law."""
    laws = [name for name in seen if not name.startswith("best ")]
    rate = {name: seen[name]["rate"] for name in laws}
    ours, fixed = rate["ours"], rate["fixed"]
    gain = _told(seen, "ours", "speed_up")
    free = 4 / sum(1 / one for _, one, _ in FOURTHS)
    held = 4 / sum(1 / one for _, _, one in FOURTHS)
    return [
        Finding(
            "Without control idle agents' contexts are thrown out and computed again: "
            f"{seen['none']['hit'].mean:.0f} % of prompt tokens are found in the cache, and the "
            f"corrected law does {gain.mean:.1f} times the output with "
            f"{seen['ours']['hit'].mean:.0f} %. The source's own rounds make "
            f"{held / free:.1f} times, not 4.09.",
            below(rate["none"], ours, times=1.5),
        ),
        Finding(
            f"Told no count, the corrected law does {ours.over(fixed).mean:.2f} of the best fixed "
            f"one ({_chosen(seen)}): it admits by what contexts will grow to.",
            below(fixed, ours, times=0.97),
        ),
        Finding(
            "The source's formula and its code are two laws: the formula is about 0 until nearly "
            f"every turn evicts ({rate['formula'].mean:.0f} tok/s), the code cuts from three "
            f"quarters of the cache on ({rate['code'].mean:.0f}); the paper's own law does "
            f"{rate['paper'].mean:.0f}. None reaches the best fixed count.",
            all(below(rate[name], fixed) for name in ("formula", "code", "paper")),
        ),
    ]
