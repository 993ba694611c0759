"""The listed plants: what each plays, what is measured, and the bar for recommended laws.

A scenario has cases (one a spread of work, say); a case plays one law with one seed and gives
numbers; bars hold for the mean over the seeds, those on refusals for every seed where they are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from simulator.plants import measures as m
from simulator.plants.case import REQUEST_LAWS, Bar, Case, Maker, Numbers
from simulator.plants.congestion import Congestion, Step
from simulator.plants.points import POINT_CASES
from simulator.plants.run import Client, Load, Outcome, run
from simulator.plants.work import TOKEN_WORK_MEAN, Work

PLANT = Congestion()
HALF = {"capacity": 22, "knee": 27, "reject_at": 34}
FULL = {"capacity": 45, "knee": 55, "reject_at": 70}
QUOTA = {"capacity": 10, "knee": 12, "reject_at": 14}
NO_REFUSAL = Bar("refused", 0, each=True)


def _one(
    make: Maker,
    seed: int,
    sigma: float,
    load: Load,
    steps: tuple[Step, ...] = (),
    end_s: float = 36_000.0,
) -> Outcome:
    work = Work(dist="lognormal", sigma=sigma)
    return run(PLANT, work, ((make(), load),), steps=steps, end_s=end_s, seed=seed)


def _only(outcome: Outcome) -> Client:
    return outcome.clients[0]


def _s1(sigma: float, tasks: int) -> Callable[[Maker, int], Numbers]:
    def play(make: Maker, seed: int) -> Numbers:
        seen = _one(make, seed, sigma, Load(tasks=tasks))
        half = seen.seconds / 2
        latencies = _only(seen).latencies
        return {
            "over_optimum": seen.seconds * PLANT.optimum / tasks,
            "attained": tasks / seen.seconds / PLANT.optimum,
            "second_half": m.rate(seen, half, seen.seconds) / PLANT.optimum,
            "refused": m.refused(seen),
            "highest": m.highest(_only(seen)),
            "settle_s": m.settle(seen, 0.0, seen.seconds, PLANT.optimum),
            "p99_s": m.quantile(latencies, 0.99),
        }

    return play


def _s2(sigma: float) -> Callable[[Maker, int], Numbers]:
    def play(make: Maker, seed: int) -> Numbers:
        steps = (Step(at_s=60.0, **HALF), Step(at_s=120.0, **FULL))
        seen = _one(make, seed, sigma, Load(), steps, 180.0)
        return {
            "attained": m.rate(seen, 30.0, 60.0) / PLANT.optimum,
            "down": m.rate(seen, 70.0, 120.0) / 55.0,
            "up": m.rate(seen, 130.0, 180.0) / PLANT.optimum,
            "refused_down": m.refused(seen, 60.0, 120.0),
            "refused_up": m.refused(seen, 120.0),
            "refused": m.refused(seen),
            "settle_s": m.settle(seen, 120.0, 180.0, PLANT.optimum),
        }

    return play


def _s3(sigma: float) -> Callable[[Maker, int], Numbers]:
    def play(make: Maker, seed: int) -> Numbers:
        steps = (Step(at_s=60.0, network_s=0.2), Step(at_s=150.0, network_s=0.0))
        seen = _one(make, seed, sigma, Load(), steps, 240.0)
        return {
            "attained": m.rate(seen, 60.0, 150.0) / PLANT.optimum,
            "high": m.rate(seen, 120.0, 150.0) / PLANT.optimum,
            "after": m.rate(seen, 210.0, 240.0) / PLANT.optimum,
            "refused": m.refused(seen),
            "settle_s": m.settle(seen, 60.0, 150.0, PLANT.optimum),
        }

    return play


def _s4(make: Maker, seed: int) -> Numbers:
    plant, tasks = Congestion(base_s=1.0, top_s=7.8), 6000
    best = plant.capacity / TOKEN_WORK_MEAN
    seen = run(plant, Work(dist="tokens"), ((make(), Load(tasks=tasks)),), seed=seed)
    return {
        "attained": tasks / seen.seconds / best,
        "refused": m.refused(seen),
        "settle_s": m.settle(seen, 0.0, seen.seconds, best),
    }


def _s5(initial: int | None) -> Callable[[Maker, int], Numbers]:
    def play(make: Maker, seed: int) -> Numbers:
        rng = np.random.default_rng([seed, 5])
        idle = np.cumsum(rng.exponential(0.2, 3000))
        arrivals = (*idle[idle < 300.0].tolist(), *[300.0] * 500)
        work = Work(dist="lognormal", sigma=0.1)
        quiet = run(
            PLANT, work, ((make(initial=initial), Load(arrivals=arrivals[:-500])),), seed=seed
        )
        seen = run(PLANT, work, ((make(initial=initial), Load(arrivals=arrivals)),), seed=seed)
        client = _only(seen)
        return {
            "attained": min(1.0, 500 / PLANT.optimum / max(1e-9, seen.seconds - 300.0)),
            "idle_limit_over_peak": m.highest(client, 299.9, 300.0) / max(1, _only(quiet).peak),
            "refused": m.refused(seen),
            "drain_s": seen.seconds - 300.0,
            "settle_s": seen.seconds - 300.0,
        }

    return play


def _s6(sigma: float) -> Callable[[Maker, int], Numbers]:
    def play(make: Maker, seed: int) -> Numbers:
        steps = (Step(at_s=60.0, **QUOTA), Step(at_s=70.0, **FULL))
        seen = _one(make, seed, sigma, Load(), steps, 180.0)
        return {
            "attained": m.rate(seen, 80.0, 180.0) / PLANT.optimum,
            "refused": m.refused(seen, 60.0),
            "recovery_s": m.settle(seen, 70.0, 180.0, PLANT.optimum),
            "settle_s": m.settle(seen, 70.0, 180.0, PLANT.optimum),
        }

    return play


def _s7(make: Maker, seed: int) -> Numbers:
    seen = _one(make, seed, 0.1, Load(), (), 1800.0)
    blocks = [m.mean_limit(_only(seen), at, at + 120.0) for at in range(120, 1800, 120)]
    return {
        "attained": m.rate(seen, 60.0, 1800.0) / PLANT.optimum,
        "drift": max(blocks[1:]) / blocks[0],
        "refused": m.refused(seen),
        "settle_s": m.settle(seen, 0.0, 1800.0, PLANT.optimum),
    }


def _s8(make: Maker, seed: int) -> Numbers:
    loads = tuple((make(), Load(joins_s=20.0 * i)) for i in range(4))
    seen = run(PLANT, Work(sigma=0.1), loads, end_s=210.0, seed=seed)
    shares = [m.count(client.ended, 150.0, 210.0) / 60.0 for client in seen.clients]
    return {
        "attained": sum(shares) / PLANT.optimum,
        "jain": m.jain(shares),
        "refused": m.refused(seen),
        "settle_s": m.settle(seen, 60.0, 210.0, PLANT.optimum),
    }


def _s9(make: Maker, seed: int) -> Numbers:
    rng = np.random.default_rng([seed, 9])
    at = np.cumsum(rng.exponential(1 / 96.25, 140_000))
    at = at[at < 1200.0]
    wanted = 55 * (1 + 0.75 * np.sin(2 * np.pi * at / 600.0)) / 96.25
    bursts = np.concatenate([start + 0.001 * np.arange(150) for start in (300, 500, 900)])
    arrivals = np.sort(np.concatenate([at[rng.random(len(at)) < wanted], bursts]))
    seen = _one(make, seed, 0.3, Load(arrivals=tuple(arrivals.tolist())), (), 1300.0)
    sojourns = _only(seen).sojourns
    return {
        "attained": len(sojourns) / len(arrivals),
        "p99_s": m.quantile(sojourns, 0.99),
        "refused": m.refused(seen),
        "settle_s": 0.0,
    }


def _cases() -> list[Case]:
    s1 = (Bar("over_optimum", 1.45), NO_REFUSAL, Bar("highest", 62))
    found = [
        Case("S1", f"σ {sigma}", "17.8 s", _s1(sigma, 2000), s1) for sigma in (0.0, 0.1, 0.3, 0.6)
    ]
    long = (Bar("second_half", 0.97, least=True), NO_REFUSAL)
    found += [
        Case("S1-long", f"σ {sigma}", "178 s", _s1(sigma, 20_000), long)
        for sigma in (0.1, 0.3, 0.6)
    ]
    for sigma, share in ((0.1, 0.95), (0.3, 0.88)):
        bars = (Bar("down", share, least=True), Bar("up", share, least=True))
        steps = (Bar("refused_down", 10), Bar("refused_up", 10))
        found.append(Case("S2", f"σ {sigma}", "112.5, 55/s", _s2(sigma), (*bars, *steps)))
    route = (Bar("high", 0.75, least=True), Bar("after", 0.98, least=True), Bar("refused", 25))
    found += [Case("S3", f"σ {sigma}", "112.5/s", _s3(sigma), route) for sigma in (0.1, 0.3)]
    found.append(Case("S4", "tokens", "8.7/s", _s4, (Bar("attained", 0.85, least=True),)))
    cold = (Bar("idle_limit_over_peak", 2.0), NO_REFUSAL, Bar("drain_s", 9.0))
    found.append(Case("S5", "cold", "4.4 s", _s5(None), cold))
    found.append(Case("S5", "warm (40)", "4.4 s", _s5(40), (NO_REFUSAL, Bar("drain_s", 5.5))))
    quota = (Bar("refused", 5), Bar("recovery_s", 10.0))
    found += [Case("S6", f"σ {sigma}", "112.5/s", _s6(sigma), quota) for sigma in (0.1, 0.3)]
    found.append(Case("S7", "σ 0.1", "112.5/s", _s7, (Bar("drift", 1.03),)))
    fair = (Bar("attained", 0.95, least=True), Bar("jain", 0.90, least=True))
    found.append(Case("S8", "σ 0.1", "112.5/s", _s8, fair))
    day = (Bar("attained", 1.0, least=True), Bar("p99_s", 3.5), Bar("refused", 5))
    found.append(Case("S9", "σ 0.3", "all served", _s9, day))
    return [replace(case, laws=REQUEST_LAWS) for case in found]


CASES: tuple[Case, ...] = (*_cases(), *POINT_CASES)
NAMES: tuple[str, ...] = tuple(dict.fromkeys(case.scenario for case in CASES))
