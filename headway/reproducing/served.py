"""``headway reproduce SYSTEM --served``: the same experiment, shorter, over HTTP."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from documents.problem import DocumentError, Problem
from headway.reproducing import progress
from headway.reproducing.printing import Title, show
from loadtest.ab.ground import EngineLost
from loadtest.reproduce.plan import Plan
from loadtest.reproduce.served.playing import play
from loadtest.reproduce.systems.base import System
from loadtest.reproduce.watched import Watch


def served_all(systems: Iterable[System], plan: Plan, out: Path | None) -> bool:
    """All that can be; of the others one line each, which is no failure."""
    held = True
    for system in systems:
        try:
            system.served.check(system.name)
        except DocumentError as error:
            for problem in error.problems:
                print(f"- {system.name}: {problem.message}\n", flush=True)
            continue
        held = served(system, plan, out) and held
    return held


def served(system: System, plan: Plan, out: Path | None) -> bool:
    """Play it against a served engine; DocumentError where a load test can't."""
    experiment = system.served
    experiment.check(system.name)
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform != "win32":
        import uvloop

        factory = uvloop.new_event_loop
    seeds = len(plan.seeds)
    watch = Watch(plan.seeds, 1)
    told = replace(plan, part=watch.part, ended=watch.ended)
    minutes = experiment.seconds(seeds, reduced=plan.reduced) / 60
    print(
        f"{system.name}: {seeds * len(experiment.arms)} load tests one after the other, about "
        f"{math.ceil(minutes)} min; what else this machine does makes runs invalid",
        file=sys.stderr,
        flush=True,
    )
    shown = progress.shown(f"{system.name} over HTTP", watch, sys.stderr)
    try:
        with shown, asyncio.Runner(loop_factory=factory) as runner:
            result = runner.run(play(experiment, told))
    except EngineLost as error:
        raise DocumentError([Problem("served", system.name, str(error))]) from None
    title = Title(f"{system.name}-served", experiment.summary, experiment.laws)
    return show(title, result, plan, out)
