"""A system in virtual time: on how many cores, how far it is, and what is kept of it meanwhile."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from headway.reproducing import progress
from loadtest.reproduce.kept import Kept, code
from loadtest.reproduce.plan import Plan
from loadtest.reproduce.processes import Processes, part
from loadtest.reproduce.runs import OneByOne, Runner
from loadtest.reproduce.systems.base import System
from loadtest.reproduce.table import Reproduction
from loadtest.reproduce.watched import Watch
from loadtest.version import version


@dataclass(frozen=True, slots=True)
class How:
    """``jobs`` runs at a time; ``kept``: the directory where runs that are over are looked for."""

    jobs: int = 1
    kept: Path | None = None


def play(name: str, passes: int, system: System, plan: Plan, how: How) -> Reproduction:
    """All of it; DocumentError where the runs that are kept aren't of this play."""
    jobs = min(how.jobs, passes * len(plan.seeds))
    with ExitStack() as stack:
        runner: Runner = OneByOne()
        watch = Watch(plan.seeds, passes)
        told = watch.part
        if jobs > 1:
            runner = processes = stack.enter_context(Processes(jobs))
            watch = Watch(plan.seeds, passes, processes.parts)
            told = part
        if how.kept is not None:
            of = {"system": name, "reduced": plan.reduced, "scale": plan.scale}
            path = how.kept / f"{name}.runs.jsonl"
            runner = Kept(runner, path, of | {"version": version(), "code": code()})
        watched = replace(plan, part=told, ended=watch.ended, runner=runner)
        stack.enter_context(progress.shown(name, watch, sys.stderr))
        return system.play(watched)
