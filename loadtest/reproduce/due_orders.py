"""Requests with deadlines before one server: orders of the queue, each with and without dropping
those who can't be in time any more, counted over arrivals and over answers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple

from loadtest.reproduce.plan import Plan, cell, law, measure
from loadtest.reproduce.series import Series, below, best
from loadtest.reproduce.table import Finding, Row
from schedulers.decision import DecisionPoint
from simulator.plants import deadlines

LOADS = (0.95, 1.1, 1.5)
COUNTED_AT = 1.1
"""The load at which attainment is counted both ways."""


class Order(NamedTuple):
    """A law with its parameters, and what a row calls it."""

    law: str
    said: str
    parameters: Mapping[str, Any] = {}


ORDERS: Mapping[str, Order] = {
    "own": Order("slack_density", "least slack", {"kappa": 0.0, "drop_hopeless": False}),
    "dropping": Order("slack_density", "least slack that drops", {"kappa": 0.0}),
    "keeping": Order("slack_density", "size counted, drops none", {"drop_hopeless": False}),
    "ours": Order("slack_density", "size counted, that drops"),
    "fcfs": Order("fcfs", "fcfs, drops none"),
    "fcfs drops": Order("fcfs", "fcfs that drops", {"drop_hopeless": True}),
    "edf": Order("edf", "edf that drops"),
    "edf keeps": Order("edf", "edf, drops none", {"drop_hopeless": False}),
    "sjf": Order("sjf", "sjf, drops none"),
}
"""The source's order and Headway's, each with what only the other does with the hopeless; then the
plain ones, as a setting has them, and the other way."""
FIXED = ("fcfs", "fcfs drops", "edf", "edf keeps", "sjf")
Seen = Mapping[str, Mapping[str, Series]]


def _played(tested: Any, load: float, requests: int, seed: int) -> dict[str, float]:
    seen = deadlines.play(tested, load, seed, requests=requests)
    return {"in_time": 100.0 * seen.attained, "of_answers": 100.0 * seen.attained / seen.served}


def play(plan: Plan) -> tuple[list[Row], list[Finding]]:
    """Every order at every load."""
    requests = 1200 if plan.reduced else 6000

    def seen(order: Order, load: float) -> Mapping[str, Series]:
        tested = law(DecisionPoint.ORDERING, order.law, **order.parameters)
        return measure(plan, partial(_played, tested, load, requests))

    played = {load: {key: seen(order, load) for key, order in ORDERS.items()} for load in LOADS}
    rows = [row for load in LOADS for row in _at(load, played[load])]
    rows += [_alone(key, load, played[load]) for key in FIXED for load in LOADS]
    return [*rows, *_counted(played[COUNTED_AT])], _explained(played)


def most(load: float) -> float:
    """The share of arrivals that one server has time for, if it serves the smallest: those below
    the size under which lie 1/load of all work."""
    if load <= 1.0:
        return 1.0
    normal = NormalDist()
    return normal.cdf(normal.inv_cdf(1.0 / load) + deadlines.SIGMA)


def _at(load: float, seen: Seen) -> list[Row]:
    chosen = best({key: seen[key] for key in FIXED}, "in_time")
    return [
        Row(
            case="deadlines",
            measure=f"in time at load {load}, of arrivals",
            unit="%",
            reference=cell(seen["own"]["in_time"]),
            corrected=cell(seen["ours"]["in_time"]),
            best_fixed=cell(seen[chosen]["in_time"], ORDERS[chosen].said),
            optimum=cell(100.0 * most(load), "the smallest that fit"),
        ),
        Row(
            case="deadlines",
            measure=f"… with the other's way with the hopeless, load {load}",
            unit="%",
            reference=cell(seen["dropping"]["in_time"], "drops"),
            corrected=cell(seen["keeping"]["in_time"], "drops none"),
        ),
    ]


def _alone(key: str, load: float, seen: Seen) -> Row:
    return Row(
        case=f"deadlines, {ORDERS[key].said}",
        measure=f"in time at load {load}, of arrivals",
        unit="%",
        reference=cell(seen[key]["in_time"]),
    )


def _counted(seen: Seen) -> list[Row]:
    """The same runs by the two ways to count."""
    return [
        Row(
            case=f"counted both ways, load {COUNTED_AT}",
            measure=order.said,
            unit="%",
            reference=cell(seen[key]["of_answers"], "of answers"),
            corrected=cell(seen[key]["in_time"], "of arrivals"),
        )
        for key, order in ORDERS.items()
    ]


def _explained(played: Mapping[float, Seen]) -> list[Finding]:
    own, ours, dropping, keeping = (
        {load: seen[key]["in_time"] for load, seen in played.items()}
        for key in ("own", "ours", "dropping", "keeping")
    )
    at, over = played[COUNTED_AT], [load for load in LOADS if load > 1.0]
    kept = " and ".join(f"{at[key]['in_time'].mean:.1f}" for key in ("fcfs", "edf keeps"))
    dropped = " and ".join(f"{at[key]['in_time'].mean:.1f}" for key in ("fcfs drops", "edf"))
    return [
        Finding(
            "Least slack first without dropping serves those who are already late: at load 1.1 it "
            f"has {own[1.1].mean:.1f} % in time; with size counted and the hopeless dropped "
            f"{ours[1.1].mean:.1f} %. It is dropping that does it: alone it has "
            f"{dropping[1.1].mean:.1f} %, size alone {keeping[1.1].mean:.1f} %.",
            all(below(own[load], ours[load]) for load in LOADS)
            and below(keeping[1.1], dropping[1.1]),
        ),
        Finding(
            "Without dropping no order by time holds out in overload: first come and earliest "
            f"deadline have {kept} % in time at load {COUNTED_AT}, and {dropped} % when they drop. "
            "Whoever drops must be counted over arrivals, as of its answers "
            f"{at['ours']['of_answers'].mean:.0f} % are in time.",
            all(
                below(played[load][keeps]["in_time"], played[load][drops]["in_time"], times=2)
                for load in over
                for keeps, drops in (("fcfs", "fcfs drops"), ("edf keeps", "edf"))
            ),
        ),
    ]
