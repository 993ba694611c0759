"""``headway reproduce SYSTEM --served``: the same experiment, shorter, over HTTP."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from documents.problem import DocumentError, Problem
from headway.reproducing.printing import Title, show
from loadtest.ab.ground import EngineLost
from loadtest.reproduce.plan import Plan
from loadtest.reproduce.served.playing import play
from loadtest.reproduce.systems.base import System


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
    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            result = runner.run(play(experiment, plan))
    except EngineLost as error:
        raise DocumentError([Problem("served", system.name, str(error))]) from None
    title = Title(f"{system.name}-served", experiment.summary, experiment.laws)
    return show(title, result, plan, out)
