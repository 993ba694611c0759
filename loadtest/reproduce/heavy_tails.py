"""Sizes with heavier tails than a log-normal: what Pollaczek–Khinchine can say of them, and which
order of a queue stands them.

Pareto with α 2.2 has a second moment and no third, so that a run's own second moment is rarely the
true one; α 1.5 has none, until the engine's context cuts the tail: here at 68 mean sizes, as 32,768
tokens are of the source's answers of 483.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from loadtest.reproduce.plan import Plan, cell, law, measure
from loadtest.reproduce.series import Series, below, best
from loadtest.reproduce.table import Finding, Row
from schedulers.decision import DecisionPoint
from simulator.plants import deadlines
from simulator.plants.sizes import Lognormal, Pareto, Sizes

BUSY, LOAD = 0.85, 1.1
TAILS: Mapping[str, Pareto] = {
    "Pareto α 2.2": Pareto(2.2),
    "Pareto α 1.5 to 68 means": Pareto(1.5, span=190.0),
}
PLAIN = Lognormal(0.6)
ORDERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "own": ("slack_density", {"kappa": 0.0, "drop_hopeless": False}),
    "ours": ("slack_density", {}),
    "fcfs": ("fcfs", {"drop_hopeless": True}),
    "edf": ("edf", {}),
    "sjf": ("sjf", {}),
}
Waits = Mapping[str, Series]


def waits(sizes: Sizes, gap: str, count: int, seed: int) -> dict[str, float]:
    """Mean wait before one server in mean services (Lindley's recursion), and what the formula
    says by the moments of the very sizes that were served."""
    rng = np.random.default_rng([seed, 4])
    services = sizes.draw(rng, count)
    gaps = np.ones(count) if gap == "spaced" else rng.exponential(1.0, count)
    steps = np.concatenate(([0.0], services[:-1] - gaps[1:] / BUSY))
    walk = np.cumsum(steps)
    mean, square = float(services.mean()), float(np.mean(services**2))
    rate = BUSY  # per mean service, as the sizes' true mean is 1
    return {
        "wait": float(np.mean(walk - np.minimum.accumulate(walk))),
        "by_moments": rate * square / (2 * (1 - rate * mean)) if rate * mean < 1 else math.inf,
    }


def theory(sizes: Sizes) -> float:
    """Pollaczek–Khinchine's mean wait at ``BUSY``, in mean services."""
    return BUSY * sizes.square / (2 * (1 - BUSY))


def _in_time(tested: Any, sizes: Sizes, requests: int, seed: int) -> dict[str, float]:
    seen = deadlines.play(tested, LOAD, seed, requests=requests, sizes=sizes)
    return {"in_time": 100.0 * seen.attained}


def play(plan: Plan) -> tuple[list[Row], list[Finding]]:
    """Each tail before one server, and its deadlines under each order."""
    count, requests = (100_000, 1200) if plan.reduced else (400_000, 6000)
    rows, waited, ordered = list[Row](), dict[str, Waits](), dict[str, dict[str, Series]]()
    for name, sizes in TAILS.items():
        waited[name] = measure(plan, partial(waits, sizes, "drawn", count))
        ordered[name] = {
            key: measure(
                plan, partial(_in_time, law(DecisionPoint.ORDERING, one, **given), sizes, requests)
            )["in_time"]
            for key, (one, given) in ORDERS.items()
        }
    for name, sizes in TAILS.items():
        rows += _rows(name, sizes, waited[name], ordered[name])
    return rows, [_formula(waited), _orders(ordered)]


def _rows(name: str, sizes: Sizes, waited: Waits, ordered: Mapping[str, Series]) -> list[Row]:
    fixed = {key: {"in_time": ordered[key]} for key in ("fcfs", "edf", "sjf")}
    chosen = best(fixed, "in_time")
    return [
        Row(
            case=f"one server, load {BUSY}, {name}",
            measure="mean wait",
            unit="mean services",
            corrected=cell(waited["wait"]),
            optimum=cell(theory(sizes), "Pollaczek–Khinchine"),
        ),
        Row(
            case=f"one server, load {BUSY}, {name}",
            measure="… by the moments of the sizes that were served",
            unit="mean services",
            optimum=cell(waited["by_moments"], "Pollaczek–Khinchine"),
        ),
        Row(
            case=f"deadlines, {name}",
            measure=f"in time at load {LOAD}, of arrivals",
            unit="%",
            reference=cell(ordered["own"]),
            corrected=cell(ordered["ours"]),
            best_fixed=cell(ordered[chosen], f"{chosen} that drops" if chosen != "sjf" else chosen),
        ),
    ]


def _formula(waited: Mapping[str, Waits]) -> Finding:
    """A mean that one run doesn't have."""
    endless, cut = (waited[name]["wait"] for name in TAILS)
    least, most = min(endless.values), max(endless.values)
    own, true = (theory(one) for one in (TAILS["Pareto α 2.2"], TAILS["Pareto α 1.5 to 68 means"]))
    return Finding(
        "The log-normal is kind: tails that a context limit cuts at 68 means make a wait of "
        f"{cut.mean:.1f} services ({true:.1f} by the formula) where its σ 0.6 makes "
        f"{theory(PLAIN):.1f}, and with α 2.2 and no limit the formula's {own:.1f} is a mean over "
        f"runs: single ones had {least:.1f} to {most:.1f}.",
        below(Series((2 * theory(PLAIN),) * len(cut.values)), cut)
        and abs(cut.mean / true - 1) < 0.25,
    )


def _orders(ordered: Mapping[str, Mapping[str, Series]]) -> Finding:
    """What dropping does is not the log-normal's doing."""
    held = all(
        below(seen["own"], seen["fcfs"])
        and below(seen["fcfs"], seen["edf"])
        and below(seen["fcfs"], seen["ours"])
        for seen in ordered.values()
    )
    seen = ordered["Pareto α 1.5 to 68 means"]
    return Finding(
        f"With heavier tails it is dropping that holds, too: at load {LOAD} least slack without it "
        f"has {seen['own'].mean:.1f} % in time, first come with it {seen['fcfs'].mean:.1f}, "
        f"earliest deadline {seen['edf'].mean:.1f}, size counted {seen['ours'].mean:.1f}.",
        held,
    )
