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

from loadtest import facts as run_facts
from loadtest import publishing
from loadtest.conclusion import LOST, Conclusion, Seen, conclude
from loadtest.facts import Facts, schedule_of
from loadtest.inflight import Flight
from loadtest.recorder import parts, read_samples, read_shadow_report, read_windows
from loadtest.reports.base import formats
from loadtest.scenario import Scenario
from loadtest.schedule import Job, Schedule
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.verdict import EXIT_CODES
from measurement.window import Window


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
    found = {sample.index: sample for sample in read_samples(out, broken.append)}
    for part in parts(out):  # several workers: what was not yet copied from their directories
        found.update((sample.index, sample) for sample in read_samples(part, broken.append))
    samples = list(found.values())
    windows = read_windows(out, broken.append)
    last = last_sign(samples, windows)
    samples += given_up(samples, scenario, facts, windows, last)
    shadow = read_shadow_report(out, broken.append)
    seen = Seen(
        windows=windows,
        stopped_at=last,
        launched=len(samples),
        shadow=shadow,
        model=facts.model,
    )
    conclusion = conclude(samples, scenario, facts, seen, LOST)
    if not broken:
        return conclusion
    noun = "line" if len(broken) == 1 else "lines"
    note = f"{len(broken):,} broken {noun} of its files could not be read and were left out."
    return dataclasses.replace(conclusion, notes=(*conclusion.notes, note))


def last_sign(samples: list[Sample], windows: list[Window]) -> float:
    """The last moment of which the files tell."""
    ends = [sample.done_at for sample in samples if sample.done_at is not None]
    ends += [sample.intended_at for sample in samples]
    return max([*ends, *(window.end for window in windows)], default=0.0)


def given_up(
    samples: list[Sample], scenario: Scenario, facts: Facts, windows: list[Window], last: float
) -> Iterator[Sample]:
    """A sample for each request of the slice that was due by the ``last`` sign and has none."""
    schedule = schedule_of(scenario, facts)
    known = {sample.index for sample in samples}
    closed = schedule.closed_loop is not None
    jobs = _slots(schedule, windows, known, last) if closed else _due(schedule, last)
    for job in jobs:
        if job.index not in known:
            yield Flight(job).given_up(Outcome.CANCELLED, max(last, job.intended_at))


def _due(schedule: Schedule, last: float) -> Iterator[Job]:
    """What an open loop had to send by then."""
    for job in schedule.jobs():
        if job.intended_at > last:
            return
        yield job


def _slots(
    schedule: Schedule, windows: list[Window], known: set[int], last: float
) -> Iterator[Job]:
    """What a closed loop had begun: its indices have no holes, and windows count what is open."""
    begun = sum(window.cohort.offered for window in windows)
    turns = max([begun, *(index // schedule.part.of + 1 for index in known)])
    missing = (i for i in map(schedule.index, range(turns)) if i not in known)
    starts = [window.start for window in windows for _ in range(window.cohort.pending)]
    for index, at in zip_longest(missing, starts, fillvalue=None):
        if index is None:
            return
        yield Job(index, last if at is None else at, schedule.shape(index))


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
