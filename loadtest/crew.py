"""One run by several workers on this machine: one schedule, cut into slices, from a common start.

This process sends nothing. It starts the workers, names their start when all are ready, merges
their windows, copies their samples into the run's own file as they come, and concludes from all of
them. A worker that is lost leaves a partial result, which is ``invalid``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import shutil
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from engines.transport.httptools_stream import HttptoolsTransport
from loadtest import crew_rules, publishing, sample_store
from loadtest import facts as run_facts
from loadtest.column_files import column_files
from loadtest.conclusion import CANCELLED, FINISHED, Conclusion, conclude
from loadtest.crew_desk import Desk
from loadtest.crew_member import STOP_WITHIN, Member
from loadtest.crew_sum import partial_samples, together
from loadtest.execution import Observer, Order, Start
from loadtest.facts import Facts
from loadtest.outline import Outline
from loadtest.recorder import PART, Recorder, read_of_windows, read_samples
from loadtest.recover import last_sign
from loadtest.schedule import WHOLE, Slice
from loadtest.version import version
from measurement.column_builder import ColumnsBuilder

READY_WITHIN = 25.0
"""Seconds for every worker to start and compute the schedule."""
LEAD = 0.25
"""Seconds from the last worker's being ready to the schedule's start."""
OVERTIME = 15.0
"""Seconds past load and drain after which whatever still runs is lost."""


async def execute_crew(
    order: Order, workers: int, egress: Sequence[str], observer: Observer, stop: asyncio.Event
) -> Conclusion:
    """Run it to its end, or until ``stop`` is set. ``egress`` are the workers' words for the rules.

    DocumentError where so many workers can't share the scenario; ChildProcessError when one does
    not get ready, and then nothing was sent.
    """
    scenario = order.scenario
    crew_rules.check(scenario, workers)
    await _check_target(order)
    salt = scenario.prompt_salt or secrets.token_hex(8)
    with Recorder(order.out) as recorder:
        desk = Desk(scenario, recorder, workers, observer)
        members = [_member(order, Slice(k, workers), desk) for k in range(workers)]
        desk.copy_from([member.out for member in members])
        async with _listening(members):
            await _start(order, members, egress, salt, stop)
            start = Start.after(LEAD)
            facts = _facts(order, start, salt, workers)
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
    if not conclusion.seen.lost:
        for member in members:
            shutil.rmtree(member.out, ignore_errors=True)
    return conclusion


async def _check_target(order: Order) -> None:
    """EgressDenied here, before any process is started."""
    transport = HttptoolsTransport(order.rules)
    try:
        await transport.prepare(order.scenario.endpoint.base_url)
    finally:
        await transport.close()


def _member(order: Order, part: Slice, desk: Desk) -> Member:
    out = order.out / f"{PART}{part.number}"
    out.mkdir(exist_ok=True)
    return Member(part, out, desk.hear)


@contextlib.asynccontextmanager
async def _listening(members: list[Member]) -> AsyncIterator[None]:
    """Whatever happens within, no worker outlives it."""
    try:
        yield
    finally:
        for member in members:
            member.kill()


async def _start(
    order: Order, members: list[Member], egress: Sequence[str], salt: str, stop: asyncio.Event
) -> None:
    for member in members:
        shared = crew_rules.share(order.scenario, member.part, salt=salt)
        given = member.out / "given.json"
        given.write_text(json.dumps(shared.to_document()), "utf-8")
        await member.start(given, egress)
    ready = asyncio.ensure_future(_all_ready(members))
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait({ready, stopped}, timeout=READY_WITHIN, return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    stopped.cancel()
    if stop.is_set():
        return
    for member in members:
        if member.lost or not member.ready.is_set():
            why = member.lost or f"was not ready within {READY_WITHIN:g} s"
            raise ChildProcessError(f"{_name(member)} {why}; no request was sent")


async def _all_ready(members: list[Member]) -> None:
    for member in members:
        await member.ready.wait()


async def _see_through(
    members: list[Member], desk: Desk, stop: asyncio.Event, budget: float
) -> None:
    """Tell once a second until every worker has ended; who overstays is killed."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + LEAD + budget + OVERTIME
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
        desk.turn([member.listening.done() for member in members])
    for member in members:
        member.listening.result()


def _facts(order: Order, start: Start, salt: str, workers: int) -> Facts:
    schedule = run_facts.make_schedule(order.scenario, salt=salt, part=WHOLE)
    return Facts(start.unix, version(), schedule.offered, salt, workers=workers)


def _conclude(order: Order, facts: Facts, members: list[Member], stop: asyncio.Event) -> Conclusion:
    scenario = order.scenario
    status = CANCELLED if stop.is_set() else FINISHED
    with column_files(order.out) as shelf:
        builder = ColumnsBuilder(shelf)
        builder.extend(read_samples(order.out))
        for member in members:
            if member.measured is None:
                builder.extend(partial_samples(builder, scenario, facts, member.part))
        seen = together(
            members, scenario, facts, last_sign(builder), read_of_windows(order.out, Outline.of)
        )
        conclusion = conclude(builder.freeze(), scenario, facts, seen, status)
    said = crew_rules.note(scenario, facts.workers)
    notes = (*conclusion.notes, said) if said else conclusion.notes
    return replace(conclusion, notes=notes)


def _name(member: Member) -> str:
    return f"Worker {member.part.number + 1} of {member.part.of}"
