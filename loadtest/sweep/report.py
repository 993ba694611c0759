"""A sweep as a table for a terminal of 80 columns."""

from __future__ import annotations

import textwrap

from loadtest.printable import printable
from loadtest.sweep.result import Rung, Sweep, pooled
from measurement.capacity.observed import Observed

_WIDTH = 80


def render(sweep: Sweep) -> str:
    """Rungs by their medians, the knee with its interval, and what to do with it."""
    lines = ["", _head(), *(_row(point, sweep.rungs) for point in pooled(sweep.rungs)), ""]
    lines += _wrapped(_knee(sweep))
    if sweep.slo_load is not None:
        lines += _wrapped(f"The SLO holds up to {sweep.slo_load:.3g} requests/s.")
    lines += [line for note in sweep.notes for line in _wrapped(note)]
    return printable("\n".join(lines)) + "\n"


def _head() -> str:
    columns = ("served/s", "attainment", "TTFT P95 ms", "least", "most", "in flight")
    return f"{'offered/s':>10}" + "".join(f"{column:>12}" for column in columns)


def _row(point: Observed, rungs: tuple[Rung, ...]) -> str:
    at = min((rung.rate for rung in rungs), key=lambda rate: abs(rate - point.rate))
    seen = [
        1e3 * rung.observed.latency
        for rung in rungs
        if rung.rate == at and rung.observed and rung.observed.latency
    ]
    cells = (
        f"{point.served:.2f}",
        "–" if point.attainment is None else f"{100 * point.attainment:.2f} %",
        "–" if point.latency is None else f"{1e3 * point.latency:,.0f}",
        f"{min(seen):,.0f}" if seen else "–",
        f"{max(seen):,.0f}" if seen else "–",
        "–" if point.in_flight is None else f"{point.in_flight:.1f}",
    )
    return f"{point.rate:>10.2f}" + "".join(f"{cell:>12}" for cell in cells)


def _knee(sweep: Sweep) -> str:
    knee = sweep.knee
    if knee.load is None or knee.recommended is None:
        return f"No knee: {knee.because}."
    interval = "" if knee.low is None else f", 95 % interval {knee.low:.3g} to {knee.high:.3g}"
    low, high = knee.recommended
    return (
        f"Knee at {knee.load:.3g} requests/s{interval}: {knee.because}. "
        f"Run at {low:.3g} to {high:.3g} requests/s, 70 to 80 % of it."
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH)
