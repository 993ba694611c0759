"""Rows of docs/running.md, written from the parameters; a test holds the page to them."""

from __future__ import annotations

from typing import Any

from documents.fields import FieldInfo, describe
from documents.registry import Registry
from loadtest.arrivals.base import processes
from loadtest.behaviour import Cancellations, Retries
from loadtest.reports.base import formats
from loadtest.workloads.base import workloads


def arrival_rows() -> list[str]:
    """One row for each parameter of each arrival process."""
    return _rows(processes)


def workload_rows() -> list[str]:
    """One row for each parameter of each workload."""
    return _rows(workloads)


def behaviour_rows() -> list[str]:
    """One row for each parameter of what clients do beside asking."""
    return [
        f"| `{part}` | `{info.name}` | {' | '.join(_cells(info))} |"
        for part, cls in (("retries", Retries), ("cancellations", Cancellations))
        for info in describe(cls)
    ]


def report_rows() -> list[str]:
    """One row for each report format."""
    return [f"| `{name}` | {cls.summary} |" for name, cls in formats.all().items()]


def _rows(registry: Registry[Any]) -> list[str]:
    return [
        f"| `{name}` | `{info.name}` | {' | '.join(_cells(info))} |"
        for name, cls in registry.all().items()
        for info in describe(cls)
    ]


def _cells(info: FieldInfo) -> tuple[str, ...]:
    return info.unit, _range(info), _default(info), info.help


def _range(info: FieldInfo) -> str:
    if info.minimum is None or info.maximum is None:
        return ""
    low = f"above {info.minimum:g}" if info.exclusive_minimum else f"{info.minimum:g}"
    return f"{low} to {info.maximum:,.0f}"


def _default(info: FieldInfo) -> str:
    if info.required:
        return "required"
    return f"{info.default:g}" if isinstance(info.default, int | float) else "none"
