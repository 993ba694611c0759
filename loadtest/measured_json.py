"""What a worker noticed of itself, as the message by which it reports to the crew's process."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from engines.transport.kernel_clock import ReceiveLag
from loadtest.conclusion import Carried, Seen
from loadtest.execution import Measured
from loadtest.facts import Facts
from loadtest.throttling import Throttled
from measurement.doubted import Doubted
from measurement.histogram import EMPTY, Histogram


def to_json(measured: Measured) -> dict[str, Any]:
    """Everything but samples and windows, which stand in its files."""
    seen = measured.seen
    return {
        "status": measured.status,
        "facts": measured.facts.to_json(),
        "stopped_at": seen.stopped_at,
        "launched": seen.launched,
        "loop_lag": (seen.loop_lag or EMPTY).to_json(),
        "doubted_gaps": dataclasses.asdict(seen.doubted_gaps),
        "doubted_firsts": dataclasses.asdict(seen.doubted_firsts),
        "stalls": [list(stall) for stall in seen.stalls],
        "throttled": None if seen.throttled is None else dataclasses.asdict(seen.throttled),
        "cpu_share": seen.cpu_share,
        "carried": _carried(seen.carried),
        "policy": dict(seen.policy),
        "signals": dict(seen.signals),
    }


def from_json(given: Mapping[str, Any]) -> Measured:
    """What ``to_json`` gave."""
    seen = Seen(
        windows=(),
        stopped_at=given["stopped_at"],
        launched=given["launched"],
        loop_lag=Histogram.from_json(given["loop_lag"]),
        doubted_gaps=Doubted(**given["doubted_gaps"]),
        doubted_firsts=Doubted(**given["doubted_firsts"]),
        stalls=tuple((since, until) for since, until in given["stalls"]),
        throttled=None if given["throttled"] is None else Throttled(**given["throttled"]),
        cpu_share=given["cpu_share"],
        carried=_carried_from(given["carried"]),
        policy=given["policy"],
        signals=given["signals"],
    )
    return Measured(Facts.from_json(given["facts"]), seen, given["status"])


def _carried(carried: Carried | None) -> dict[str, Any] | None:
    if carried is None:
        return None
    receive = carried.receive
    said = {
        "transport": carried.transport,
        "connections": carried.connections,
        "proxy": carried.proxy,
    }
    if receive is None:
        return {**said, "receive": None}
    clock = {"offset_error": receive.offset_error, "steps": receive.steps}
    lag = {
        "lag": receive.lag.to_json(),
        "unstamped": receive.unstamped,
        "together": receive.together,
    }
    return {**said, "receive": {**clock, **lag}}


def _carried_from(given: Mapping[str, Any] | None) -> Carried | None:
    if given is None:
        return None
    receive = given["receive"]
    if receive is not None:
        receive = ReceiveLag(**{**receive, "lag": Histogram.from_json(receive["lag"])})
    return Carried(given["transport"], given["connections"], receive, given["proxy"])
