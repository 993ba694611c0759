"""Two finished runs beside each other: values, intervals and differences, and no verdict.

Two runs that are over differ in more than what one means to compare: the hour, the caches, what
else was on the machine. So this describes; ``measurement.comparison`` decides, on blocks that were
drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_APART = (
    "No verdict can be drawn: the runs were at different times, so whatever else differed then "
    "(caches, neighbours, the machine) is in the difference too."
)
_ONE_EACH = (
    "One run each has no error rate: intervals tell how well each run knows its own number, "
    "not whether the next two runs would differ the same way."
)
CANNOT = (_APART, _ONE_EACH)
NEXT = "For a verdict with known error rates, replay both policies in randomised blocks: an A/B."

Summary = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Value:
    """A number of one run with its 95 % interval; ``rough`` where n is too small for it."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    rough: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "rough": self.rough,
        }


@dataclass(frozen=True, slots=True)
class Row:
    """One number of both. ``unit`` is ms, share, requests/s or tokens/s."""

    name: str
    unit: str
    a: Value
    b: Value

    @property
    def delta(self) -> float | None:
        """B − A, in the unit; null where either is."""
        if self.a.value is None or self.b.value is None:
            return None
        return self.b.value - self.a.value

    @property
    def relative(self) -> float | None:
        """The same over A; null for shares, whose difference is in points, and over 0."""
        if self.delta is None or not self.a.value or self.unit == "share":
            return None
        return self.delta / self.a.value

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "name": self.name,
            "unit": self.unit,
            "a": self.a.to_json(),
            "b": self.b.to_json(),
            "delta": self.delta,
            "relative": self.relative,
        }


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one tenant or one band of prompt lengths."""

    name: str
    rows: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"name": self.name, "rows": [row.to_json() for row in self.rows]}


@dataclass(frozen=True, slots=True)
class SideBySide:
    rows: tuple[Row, ...]
    tenants: tuple[Group, ...]
    bands: tuple[Group, ...]
    cannot: tuple[str, ...]
    """What can't be concluded, in sentences."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "label": "description, no verdict",
            "rows": [row.to_json() for row in self.rows],
            "tenants": [group.to_json() for group in self.tenants],
            "bands": [group.to_json() for group in self.bands],
            "cannot": list(self.cannot),
            "next": NEXT,
        }


def side_by_side(a: Summary, b: Summary, caveats: tuple[str, ...] = ()) -> SideBySide:
    """From two summaries whose stimulus was found equal, with what limits them besides."""
    rows = tuple(_rows(a, b))
    rough = [row.name for row in rows if row.a.rough or row.b.rough]
    small = (f"Too few requests for {', '.join(rough)}.",) if rough else ()
    return SideBySide(
        rows=rows,
        tenants=_groups(a, b, "tenants", lambda row: str(row["tenant"])),
        bands=_groups(a, b, "bands", band_name),
        cannot=(*CANNOT, *caveats, *small),
    )


def band_name(row: Mapping[str, Any]) -> str:
    """``257 to 1,024 tokens``."""
    over, up_to = row["over"], row["up_to"]
    if over is None:
        return "length unknown"
    return f"over {over:,} tokens" if up_to is None else f"{over + 1:,} to {up_to:,} tokens"


def _rows(a: Summary, b: Summary) -> Iterator[Row]:
    yield Row("attainment", "share", _attainment(a), _attainment(b))
    for name, key, unit in (
        ("goodput", "goodput_rps", "requests/s"),
        ("offered", "offered_rate", "requests/s"),
        ("served", "served_rate", "requests/s"),
        ("output tokens", "output_tokens_ps", "tokens/s"),
        ("rejected and shed", "rejection_rate", "share"),
    ):
        yield Row(name, unit, Value(a.get(key)), Value(b.get(key)))
    for name, key in (("TTFT", "ttft_ms"), ("TPOT", "tpot_ms"), ("E2E", "e2e_ms")):
        for percent in ("p50", "p95", "p99"):
            values = (_percentile(run, key, percent) for run in (a, b))
            yield Row(f"{name} {percent.upper()}", "ms", *values)


def _attainment(run: Summary) -> Value:
    """Of a whole run, or of a tenant's or a band's row, which name the ends shortly."""
    return Value(
        run.get("attainment"),
        run.get("attainment_low", run.get("low")),
        run.get("attainment_high", run.get("high")),
        run.get("attainment_n", run.get("n")),
    )


def _percentile(run: Summary, key: str, percent: str) -> Value:
    found = run.get(key) or {}
    interval = ((run.get("intervals") or {}).get(key) or {}).get(percent) or {}
    value, rough = found.get(percent), (found.get("rough") or {}).get(percent)
    return Value(
        rough if value is None else value,
        interval.get("low"),
        interval.get("high"),
        found.get("n"),
        rough=value is None and rough is not None,
    )


def _groups(
    a: Summary, b: Summary, key: str, name: Callable[[Mapping[str, Any]], str]
) -> tuple[Group, ...]:
    """Rows of the same name in both; one that only one run has stands beside nothing."""
    first, second = ({name(row): row for row in run.get(key) or ()} for run in (a, b))
    names = [*first, *(one for one in second if one not in first)]
    return tuple(
        Group(one, tuple(_group(first.get(one) or {}, second.get(one) or {}))) for one in names
    )


def _group(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Row]:
    yield Row("attainment", "share", _attainment(a), _attainment(b))
    for title, metric in (("TTFT", "ttft_ms"), ("TPOT", "tpot_ms")):
        for percent in ("p95", "p99"):
            values = (_percentile(run, metric, percent) for run in (a, b))
            yield Row(f"{title} {percent.upper()}", "ms", *values)
