"""What several workers noticed of themselves, taken together; and what a lost one leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from loadtest.conclusion import Carried, Seen
from loadtest.crew_member import Member, row_of
from loadtest.execution import Measured
from loadtest.facts import Facts, schedule_of
from loadtest.outline import Outline
from loadtest.recover import given_up, last_sign
from loadtest.scenario import Scenario
from loadtest.schedule import Slice
from loadtest.throttling import Throttled
from measurement.column_builder import ColumnsBuilder
from measurement.doubted import NOTHING
from measurement.histogram import Histogram
from measurement.sample import Sample


def together(
    members: Sequence[Member],
    scenario: Scenario,
    facts: Facts,
    last: float,
    windows: Sequence[Outline],
) -> Seen:
    """One ``Seen`` of all, whose samples end at ``last``. The loop lag that is judged is the worst
    worker's: a merged one would hide one late worker behind many that were not."""
    found = [member.measured for member in members if member.measured is not None]
    seen = [measured.seen for measured in found]
    stopped_at = max((one.stopped_at for one in seen), default=last)
    cpu = [one.cpu_share for one in seen if one.cpu_share is not None]
    return Seen(
        windows=windows,
        stopped_at=stopped_at,
        loop_lag=_worst(seen),
        doubted_gaps=sum((one.doubted_gaps for one in seen), NOTHING),
        doubted_firsts=sum((one.doubted_firsts for one in seen), NOTHING),
        stalls=tuple(sorted(stall for one in seen for stall in one.stalls)),
        throttled=_throttled(seen),
        cpu_share=sum(cpu) if cpu else None,
        carried=_carried(seen),
        policy=_policy(seen),
        signals=seen[0].signals if seen and members[0].measured is not None else {},
        workers=tuple(map(_row, members)),
        lost=tuple(doubt for member in members for doubt in member.doubts()),
        due=_due(members, scenario, facts, stopped_at),
    )


def partial_samples(
    found: ColumnsBuilder, scenario: Scenario, facts: Facts, part: Slice
) -> Iterator[Sample]:
    """What a lost worker had under way by its last sign: given up by us."""
    index = found.read("index")
    mine = index % part.of == part.number
    its = replace(facts, slice_number=part.number, slice_of=part.of)
    return given_up(index[mine], scenario, its, [], last_sign(found, mine))


def _due(
    members: Sequence[Member], scenario: Scenario, facts: Facts, stopped_at: float
) -> int | None:
    """What each slice held by the time its worker stopped; a closed loop counts what it began."""
    schedule = schedule_of(scenario, facts)
    if schedule.closed_loop:
        if any(member.measured is None for member in members):
            return None
        return sum(_seen(member).launched or 0 for member in members if member.measured)
    total = 0
    for member in members:
        until = _seen(member).stopped_at if member.measured else stopped_at
        mine = schedule.instants[member.part.number :: member.part.of]
        total += int(np.searchsorted(mine, until, side="right"))
    return total


def _seen(member: Member) -> Seen:
    measured: Measured | None = member.measured
    if measured is None:
        raise ValueError("a worker that was lost has not seen anything")
    return measured.seen


def _worst(seen: Sequence[Seen]) -> Histogram | None:
    lags = [one.loop_lag for one in seen if one.loop_lag is not None and one.loop_lag.count]
    return max(lags, key=lambda lag: lag.percentile(99) or 0.0, default=None)


def _throttled(seen: Sequence[Seen]) -> Throttled | None:
    """Of the one that was held back most: those of one control group were all told the same."""
    known = [one.throttled for one in seen if one.throttled is not None]
    return max(known, key=lambda one: one.seconds, default=None)


def _carried(seen: Sequence[Seen]) -> Carried | None:
    """All connections; the receive lag of the worst worker, for the reason of the loop lag."""
    found = [one.carried for one in seen if one.carried is not None]
    if not found:
        return None
    read = [one.receive for one in found if one.receive is not None]
    late = max(read, key=lambda one: one.lag.percentile(99) or 0.0, default=None)
    if late is not None:
        late = replace(
            late,
            offset_error=max(one.offset_error for one in read),
            steps=max(one.steps for one in read),
            unstamped=sum(one.unstamped for one in read),
            together=sum(one.together for one in read),
        )
    connections = sum(one.connections for one in found)
    return Carried(found[0].transport, connections, late, found[0].proxy)


def _policy(seen: Sequence[Seen]) -> dict[str, Any]:
    names = ("decisions", "deciding_seconds", "steps")
    return {
        name: sum(one.policy[name] for one in seen) for name in names if seen and seen[0].policy
    }


def _row(member: Member) -> Mapping[str, Any]:
    row = row_of(member)
    if member.measured is None:
        return row
    seen = member.measured.seen
    lag = seen.loop_lag.percentile(99) if seen.loop_lag is not None else None
    return {
        **row,
        "cpu_share": seen.cpu_share,
        "connections": seen.carried.connections if seen.carried else None,
        "loop_lag_p99_ms": None if lag is None else 1e3 * lag,
    }
