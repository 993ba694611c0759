"""Shares of requests that were refused or failed, by cohort, with what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controlplane.runs.panels.base import Column, Number, Row
from measurement.batch_means import effective_n
from measurement.outcome import Outcome
from measurement.proportion import Share
from measurement.window import Window

REFUSED = frozenset({Outcome.REJECTED_429, Outcome.REJECTED_503, Outcome.SHED})
FAILED = frozenset(
    outcome
    for outcome in Outcome
    if not outcome.success and outcome not in REFUSED and outcome is not Outcome.CANCELLED
)


def _resolved(window: Window) -> Number:
    return window.cohort.resolved


def _refused(window: Window) -> Number:
    return sum(window.cohort.outcomes.get(outcome, 0) for outcome in REFUSED)


def _failed(window: Window) -> Number:
    return sum(window.cohort.outcomes.get(outcome, 0) for outcome in FAILED)


COLUMNS: Mapping[str, Column] = {"resolved": _resolved, "refused": _refused, "failed": _failed}


def share(rows: Sequence[Row], key: str) -> Share:
    """That many of the resolved requests, worth as many independent ones as cohorts say."""
    sizes = [int(row["resolved"] or 0) for row in rows]
    hits = [int(row[key] or 0) for row in rows]
    return Share(sum(hits), sum(sizes), effective_n(sizes, hits))


def course(rows: Sequence[Row], key: str) -> list[float | None]:
    """The share in each cohort; None where nothing is resolved."""
    return [(row[key] or 0) / resolved if (resolved := row["resolved"]) else None for row in rows]
