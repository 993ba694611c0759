"""A report from what a killed run left: everything it had measured, with status ``lost``.

The samples stand; the schedule says which requests were due by the last sign of life, and those
without a sample were given up by us, so they count as cancelled: excluded, unless they had missed
an objective by then. Each offered request has one outcome here too.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from loadtest import facts as run_facts
from loadtest import publishing
from loadtest.column_files import column_files
from loadtest.conclusion import LOST, Conclusion, Seen, conclude
from loadtest.facts import Facts, schedule_of
from loadtest.inflight import Flight
from loadtest.outline import Outline
from loadtest.recorder import parts, read_of_windows, read_samples, read_shadow_report
from loadtest.reports.base import formats
from loadtest.scenario import Scenario
from loadtest.schedule import Job, Schedule
from measurement.column_block import Bools, Ints
from measurement.column_builder import ColumnsBuilder
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.verdict import EXIT_CODES


class NothingLeft(RuntimeError):  # noqa: N818 - reads as what happened
    """The directory holds no run that had begun."""


def recover(out: Path) -> dict[str, Any]:
    """Write and return the summary of a run whose process is gone."""
    conclusion = conclusion_of(out)
    publishing.write_files(conclusion, out)
    summary: dict[str, Any] = json.loads(formats.get("json")().render(conclusion))
    return summary


def conclusion_of(out: Path) -> Conclusion:
    """Judge what is there, and write nothing."""
    try:
        scenario, facts = run_facts.read(out)
    except (OSError, ValueError, TypeError) as error:
        raise NothingLeft(f"{out} holds no run that had begun: {error}") from error
    broken: list[bytes] = []
    with column_files(out) as shelf:
        builder = ColumnsBuilder(shelf)
        for place in (out, *parts(out)):  # several workers: what was not yet copied from theirs
            builder.extend(read_samples(place, broken.append))
        windows = read_of_windows(out, Outline.of, broken.append)
        last = max(last_sign(builder), max((window.end for window in windows), default=0.0))
        builder.extend(given_up(builder.read("index"), scenario, facts, windows, last))
        columns = builder.freeze(newest=True)
        seen = Seen(
            windows=windows,
            stopped_at=last,
            launched=len(columns),
            shadow=read_shadow_report(out, broken.append),
            model=facts.model,
        )
        conclusion = conclude(columns, scenario, facts, seen, LOST)
    if not broken:
        return conclusion
    noun = "line" if len(broken) == 1 else "lines"
    note = f"{len(broken):,} broken {noun} of its files could not be read and were left out."
    return dataclasses.replace(conclusion, notes=(*conclusion.notes, note))


def last_sign(found: ColumnsBuilder, which: Bools | None = None) -> float:
    """The last moment of which samples tell, or some of them; 0 of none."""
    times = np.fmax(found.read("done_at"), found.read("intended_at"))
    return float(np.max(times if which is None else times[which], initial=0.0))


def given_up(
    known: Ints, scenario: Scenario, facts: Facts, windows: list[Outline], last: float
) -> Iterator[Sample]:
    """A sample for each request of the slice that was due by the ``last`` sign and has none;
    ``known`` are the indices of those that have."""
    schedule = schedule_of(scenario, facts)
    closed = schedule.closed_loop is not None
    jobs = _slots(schedule, windows, known, last) if closed else _due(schedule, known, last)
    for job in jobs:
        yield Flight(job).given_up(Outcome.CANCELLED, max(last, job.intended_at))


def _due(schedule: Schedule, known: Ints, last: float) -> Iterator[Job]:
    """What an open loop had to send by then, and is not known."""
    mine = schedule.instants[schedule.part.number :: schedule.part.of]
    turns = _unknown(schedule, int(np.searchsorted(mine, last, side="right")), known)
    for turn in turns:
        index = schedule.index(turn)
        yield Job(index, float(mine[turn]), schedule.shape(index))


def _slots(schedule: Schedule, windows: list[Outline], known: Ints, last: float) -> Iterator[Job]:
    """What a closed loop had begun: its indices have no holes, and windows count what is open."""
    begun = sum(window.offered for window in windows)
    turns = max(begun, int(np.max(known, initial=-1)) // schedule.part.of + 1)
    missing = map(schedule.index, _unknown(schedule, turns, known))
    starts = [window.start for window in windows for _ in range(window.pending)]
    for index, at in zip_longest(missing, starts, fillvalue=None):
        if index is None:
            return
        yield Job(index, last if at is None else at, schedule.shape(index))


def _unknown(schedule: Schedule, turns: int, known: Ints) -> list[int]:
    """Which of the slice's first ``turns`` requests have no sample."""
    indices = schedule.part.number + np.arange(turns) * schedule.part.of
    found: list[int] = np.flatnonzero(~np.isin(indices, known)).tolist()
    return found


def main() -> int:
    """``python -m loadtest.recover DIR``: recover and print the summary."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python -m loadtest.recover DIR\n")
        return EXIT_CODES["bad_configuration"]
    try:
        summary = recover(Path(sys.argv[1]))
    except NothingLeft as error:
        sys.stderr.write(f"loadtest.recover: {error}\n")
        return EXIT_CODES["bad_configuration"]
    json.dump(summary, sys.stdout, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
