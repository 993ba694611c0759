"""One run by several workers: one schedule, cut into slices, from a common start.

This process sends nothing. It starts the workers, names their start when all are ready, merges
their windows, copies their samples into the run's own file as they come, and concludes from all of
them. A worker that is lost leaves a partial result, which is ``invalid``.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engines.transport.httptools_stream import HttptoolsTransport
from loadtest import crew_rules, publishing, sample_store
from loadtest import facts as run_facts
from loadtest.column_files import column_files
from loadtest.conclusion import CANCELLED, FINISHED, Conclusion, conclude
from loadtest.crew_desk import Desk
from loadtest.crew_local import LocalMember
from loadtest.crew_member import STOP_WITHIN, Heard, Member
from loadtest.crew_sum import partial_samples, together
from loadtest.execution import Observer, Order, Start
from loadtest.facts import Facts
from loadtest.outline import Outline
from loadtest.recorder import PART, Recorder, read_of_windows, read_samples
from loadtest.recover import last_sign
from loadtest.schedule import WHOLE, Slice
from loadtest.version import version
from measurement.column_builder import ColumnsBuilder

MEET_WITHIN = 5.0
"""Seconds for every clock to be compared with ours, once all are ready."""
OVERTIME = 15.0
"""Seconds past load and drain after which whatever still runs is lost."""


@dataclass(frozen=True, slots=True)
class Crew:
    """Who carries the slices of a run."""

    size: int
    make: Callable[[Slice, Heard], Member]
    machines: int = 1
    ready_within: float = 25.0
    """Seconds for every one to start and compute the schedule."""
    lead: float = 0.25
    """Seconds from the last one's being ready to the schedule's start."""

    @property
    def path(self) -> str:
        """Which field of what was asked says how many they are."""
        return crew_rules.WORKERS if self.machines == 1 else crew_rules.MACHINES


async def execute_crew(
    order: Order, workers: int, egress: Sequence[str], observer: Observer, stop: asyncio.Event
) -> Conclusion:
    """By several processes of this machine; ``egress`` are their words for the rules."""

    def make(part: Slice, heard: Heard) -> Member:
        return LocalMember(part, order.out / f"{PART}{part.number}", egress, heard)

    return await lead(order, Crew(workers, make), observer, stop)


async def lead(order: Order, crew: Crew, observer: Observer, stop: asyncio.Event) -> Conclusion:
    """Run it to its end, or until ``stop`` is set.

    DocumentError where so many can't share the scenario; ChildProcessError when one does not get
    ready, and then nothing was sent.
    """
    scenario = order.scenario
    crew_rules.check(scenario, crew.size, crew.path)
    await _check_target(order)
    salt = scenario.prompt_salt or secrets.token_hex(8)
    with Recorder(order.out) as recorder:
        desk = Desk(scenario, recorder, crew.size, observer)
        members = [crew.make(Slice(k, crew.size), desk.hear) for k in range(crew.size)]
        desk.copy_from([member.files for member in members if member.files is not None])
        async with _listening(members):
            await _start(order, members, salt, stop, crew.ready_within)
            start = Start.after(crew.lead)
            facts = _facts(order, start, salt, crew)
            run_facts.write(order.out, scenario, facts)
            observer.started(scenario, facts)
            for member in members:
                member.go(start)
            await _see_through(members, desk, stop, scenario.duration_s + scenario.drain_s)
        desk.last()
    conclusion = _conclude(order, facts, members, stop)
    publishing.write_files(conclusion, order.out)
    sample_store.settle(order.out, order.samples_format)
    observer.concluded(conclusion)
    if not any(member.lost for member in members):
        for member in members:
            if member.files is not None:
                shutil.rmtree(member.files, ignore_errors=True)
    return conclusion


async def _check_target(order: Order) -> None:
    """EgressDenied here, before any process is started."""
    transport = HttptoolsTransport(order.rules)
    try:
        await transport.prepare(order.scenario.endpoint.base_url)
    finally:
        await transport.close()


@contextlib.asynccontextmanager
async def _listening(members: list[Member]) -> AsyncIterator[None]:
    """Whatever happens within, no worker outlives it."""
    try:
        yield
    finally:
        for member in members:
            member.kill()


async def _start(
    order: Order, members: list[Member], salt: str, stop: asyncio.Event, within: float
) -> None:
    """Until all are ready and their clocks are known, or the run is stopped."""
    for member in members:
        await member.start(crew_rules.share(order.scenario, member.part, salt=salt))
    await _until(_all_ready(members), stop, within)
    if stop.is_set():
        return
    for member in members:
        if member.lost or not member.ready.is_set():
            why = member.lost or f"was not ready within {within:g} s"
            raise ChildProcessError(f"{member.name} {why}; no request was sent")
    if not await _until(_all_met(members), stop, MEET_WITHIN) and not stop.is_set():
        met = f"the clocks of all could not be compared within {MEET_WITHIN:g} s"
        raise ChildProcessError(f"{met}; no request was sent")


async def _until(work: Coroutine[Any, Any, None], stop: asyncio.Event, within: float) -> bool:
    """Whether it was done in time and before ``stop``; what goes wrong in it comes out here."""
    done, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    await asyncio.wait({done, stopped}, timeout=within, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if not done.done():
        done.cancel()
        return False
    done.result()
    return True


async def _all_ready(members: list[Member]) -> None:
    for member in members:
        await member.ready.wait()


async def _all_met(members: list[Member]) -> None:
    await asyncio.gather(*(member.meet() for member in members))


async def _see_through(
    members: list[Member], desk: Desk, stop: asyncio.Event, budget: float
) -> None:
    """Tell once a second until every worker has ended; who overstays is killed."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + budget + OVERTIME
    asked = False
    while not all(member.listening.done() for member in members):
        if stop.is_set() and not asked:
            asked = True
            deadline = min(deadline, clock() + STOP_WITHIN)
            for member in members:
                member.cancel()
        if clock() > deadline:
            for member in members:
                member.kill()
        pending = [member.listening for member in members if not member.listening.done()]
        await asyncio.wait(pending, timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
        desk.turn(members)
    for member in members:
        member.listening.result()


def _facts(order: Order, start: Start, salt: str, crew: Crew) -> Facts:
    offered = run_facts.make_schedule(order.scenario, salt=salt, part=WHOLE).offered
    return Facts(start.unix, version(), offered, salt, workers=crew.size, machines=crew.machines)


def _conclude(order: Order, facts: Facts, members: list[Member], stop: asyncio.Event) -> Conclusion:
    scenario = order.scenario
    status = CANCELLED if stop.is_set() else FINISHED
    with column_files(order.out) as shelf:
        builder = ColumnsBuilder(shelf)
        builder.extend(read_samples(order.out))
        for member in members:
            if member.measured is None:
                builder.extend(partial_samples(builder, scenario, facts, member.part))
        windows = read_of_windows(order.out, Outline.of)
        seen = together(members, scenario, facts, last_sign(builder), windows)
        conclusion = conclude(builder.freeze(), scenario, facts, seen, status)
    said = crew_rules.note(scenario, facts.workers)
    notes = (*conclusion.notes, said) if said else conclusion.notes
    return replace(conclusion, notes=notes)
