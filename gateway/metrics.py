"""``/metrics``: SLI counters from which Prometheus makes burn rates, and the state of each lane."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.books import Books
from gateway.routing import Router

TYPE = "text/plain; version=0.0.4; charset=utf-8"
Rows = Iterable[tuple[dict[str, str], float]]


def render(books: Books, router: Router, state: dict[str, float], now: float) -> str:
    """The whole page; ``now`` is on the gateway's clock.

    ``state`` are gauges of the process: its configuration, feed, telemetry.
    """
    lines: list[str] = []

    def family(name: str, kind: str, text: str, rows: Rows) -> None:
        lines.append(f"# HELP headway_gateway_{name} {text}")
        lines.append(f"# TYPE headway_gateway_{name} {kind}")
        for labels, value in rows:
            written = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            lines.append(
                f"headway_gateway_{name}{{{written}}} {float(value)!r}"
                if written
                else f"headway_gateway_{name} {float(value)!r}"
            )

    family(
        "requests_total",
        "counter",
        "Requests that ended, by outcome.",
        [({"tenant": t, "arm": a, "outcome": o}, n) for (t, a, o), n in books.outcomes.items()],
    )
    family(
        "slo_requests_total",
        "counter",
        "Requests judged by the SLO: met, missed or excluded.",
        [({"tenant": t, "arm": a, "verdict": v}, n) for (t, a, v), n in books.judged.items()],
    )
    family(
        "tokens_total",
        "counter",
        "Tokens read and generated.",
        [({"tenant": t, "direction": d}, n) for (t, d), n in books.tokens.items()],
    )
    family(
        "refusals_total",
        "counter",
        "Answers of the gateway's own, by code.",
        [({"code": code}, n) for code, n in books.refusals.items()],
    )
    lanes = [({"lane": lane.name}, lane) for lane in router.lanes.values()]
    family(
        "limit",
        "gauge",
        "Requests that may be in flight.",
        [(labels, lane.limiter.limit) for labels, lane in lanes],
    )
    family(
        "in_flight",
        "gauge",
        "Requests in flight.",
        [(labels, lane.limiter.in_flight) for labels, lane in lanes],
    )
    family(
        "queue_depth",
        "gauge",
        "Requests that wait.",
        [(labels, lane.waiting) for labels, lane in lanes],
    )
    slo = router.config.slo
    stands = [(labels, lane.waits.standing(now, slo)) for labels, lane in lanes]
    family(
        "overdue",
        "gauge",
        "Open requests that have missed an objective already.",
        [(labels, standing.overdue) for labels, standing in stands],
    )
    family(
        "quiet_seconds",
        "gauge",
        "Seconds for which engines that owe an answer have sent nothing.",
        [(labels, standing.quiet_s) for labels, standing in stands],
    )
    family(
        "deciding_seconds_total",
        "counter",
        "Time that the policy spent deciding.",
        [(labels, lane.deciding_seconds) for labels, lane in lanes],
    )
    family(
        "endpoint_up",
        "gauge",
        "Whether an endpoint may be tried.",
        [
            ({"lane": lane.name, "endpoint": engine.config.name}, float(engine.up))
            for _, lane in lanes
            for engine in lane.engines
        ],
    )
    for name, value in state.items():
        family(name, "gauge", _STATE[name], [({}, value)])
    return "\n".join([*lines, ""])


_STATE = {
    "config_revision": "Revision of the configuration that serves.",
    "config_refused": "Configurations that were refused since the start.",
    "control_plane_silent_seconds": "Seconds since the control plane last answered.",
    "telemetry_pending": "Telemetry batches that wait to be sent.",
    "telemetry_dropped": "Telemetry batches lost since the start: the buffer was full, or refused.",
    "connections": "Client connections.",
}


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
