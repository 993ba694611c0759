"""Thresholds in k6's spelling over our metric names: ``ttft_ms: p(95)<800``, ``attainment>=0.99``.

A name or an operator that nobody knows is a fault that lists the known ones: a misspelt threshold
must never pass in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from documents.problem import DocumentError, Problem
from measurement.objectives import METRICS

AT_MOST, AT_LEAST = ("<", "<="), (">", ">=")
SIGNS = {"<": "<", "<=": "≤", ">": ">", ">=": "≥"}
"""Operators as sentences write them."""
SMALLEST_SHARE = 0.00001
"""No number of requests shows a share to be 0 or 1, so a limit keeps this far from both."""

_FORM = re.compile(
    r"\s*(?P<metric>[^\s:<>=()!]+)\s*:?\s*(?P<of>[A-Za-z]+(?:\([^()]*\))?)?\s*"
    r"(?P<operator>[<>=!]+)\s*(?P<limit>\S+)\s*"
)
_PERCENTILE = re.compile(r"p\(\s*(\d+(?:\.\d+)?)\s*\)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


class Kind(StrEnum):
    """How a metric's threshold is judged."""

    LATENCY = "latency"
    """By the share of requests within the limit, a failure being beyond every limit."""
    SHARE = "share"
    """By the bound of a share of the offered requests."""
    RATE = "rate"
    """Goodput: by the bound of the share that met every objective, times the offered rate."""
    NUMBER = "number"
    """As measured: a fact of the run, not an estimate of one."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One name that a threshold may be about."""

    title: str
    kind: Kind
    operators: tuple[str, ...]
    unit: str = ""


KNOWN: Mapping[str, Measured] = {
    **{
        name: Measured(metric.title, Kind.LATENCY, AT_MOST, metric.unit)
        for name, metric in METRICS.items()
        if name != "error"
    },
    "attainment": Measured("attainment", Kind.SHARE, AT_LEAST),
    "errors": Measured("error rate", Kind.SHARE, AT_MOST),
    "rejected": Measured("rejection rate", Kind.SHARE, AT_MOST),
    "goodput_rps": Measured("goodput", Kind.RATE, AT_LEAST, "requests/s"),
    "goodput_tokens_ps": Measured("token goodput", Kind.NUMBER, AT_LEAST, "tokens/s"),
    "output_tokens_ps": Measured("output rate", Kind.NUMBER, AT_LEAST, "tokens/s"),
    "achieved_rate": Measured("achieved rate", Kind.NUMBER, (*AT_MOST, *AT_LEAST), "requests/s"),
}


@dataclass(frozen=True, slots=True)
class Threshold:
    """``percent`` is None except for latencies. Its text reads back as the same threshold."""

    metric: str
    operator: str
    limit: float
    percent: float | None = None

    @classmethod
    def parse(cls, text: object, *, path: str = "") -> Threshold:
        """From its text; DocumentError says what would be right."""
        found = _FORM.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise _fault(path, text, "must read like ttft_ms: p(95)<800 or attainment>=0.99")
        name, operator = found["metric"], found["operator"]
        known = KNOWN.get(name)
        if known is None:
            raise _fault(path, name, f"unknown metric; known: {', '.join(KNOWN)}")
        if operator not in known.operators:
            wanted = " or ".join(known.operators)
            raise _fault(path, operator, f"unknown operator; {name} takes {wanted}")
        percent = _percent(found["of"], name, known, path)
        limit = _limit(found["limit"], name, known, path)
        return cls(name, operator, limit, percent)

    def __str__(self) -> str:
        of = "" if self.percent is None else f": p({plain(self.percent)})"
        return f"{self.metric}{of}{self.operator}{plain(self.limit)}"

    @property
    def measured(self) -> Measured:
        """What its metric is."""
        return KNOWN[self.metric]

    @property
    def label(self) -> str:
        """As a sentence holds it: ``P95 of TTFT < 800 ms``."""
        known = self.measured
        of = "" if self.percent is None else f"P{plain(self.percent)} of "
        share = known.kind is Kind.SHARE
        limit = f"{plain(round(100 * self.limit, 9))} %" if share else plain(self.limit)
        return f"{of}{known.title} {SIGNS[self.operator]} {limit} {known.unit}".rstrip()


def parse_all(given: object, *, path: str = "thresholds") -> tuple[Threshold, ...]:
    """A list of texts, or k6's mapping of metric to texts; every fault by its path, none twice."""
    problems: list[Problem] = []
    found: list[Threshold] = []
    for where, text in _texts(given, path):
        try:
            one = Threshold.parse(text, path=where)
        except DocumentError as error:
            problems.extend(error.problems)
            continue
        if one in found:
            problems.append(Problem(where, text, "stands here twice"))
        found.append(one)
    if problems:
        raise DocumentError(problems)
    return tuple(found)


def plain(value: float) -> str:
    """A number as people write it, and as it reads back."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


def _texts(given: object, path: str) -> Iterable[tuple[str, object]]:
    """Each threshold's path and text. ``- ttft_ms: p(95)<800`` is a mapping to YAML."""
    if isinstance(given, Mapping):
        for metric, expressions in given.items():
            several = expressions if isinstance(expressions, list | tuple) else [expressions]
            for one in several:
                yield f"{path}.{metric}", _joined(metric, one)
    elif isinstance(given, list | tuple):
        for index, item in enumerate(given):
            where = f"{path}.{index}"
            if isinstance(item, Mapping) and len(item) == 1:
                [(metric, expression)] = item.items()
                yield where, _joined(metric, expression)
            else:
                yield where, item
    else:
        raise _fault(path, given, "must be a list of thresholds, such as ttft_ms: p(95)<800")


def _joined(metric: object, expression: object) -> object:
    return f"{metric}: {expression}" if isinstance(expression, str) else expression


def _percent(of: str | None, name: str, known: Measured, path: str) -> float | None:
    if known.kind is not Kind.LATENCY:
        if of:
            raise _fault(path, of, f"{name} is one number; write {name}{known.operators[-1]}…")
        return None
    found = _PERCENTILE.fullmatch(of or "")
    percent = float(found[1]) if found else 0.0
    if not 0 < percent <= 100 * (1 - SMALLEST_SHARE):
        raise _fault(path, of, f"must be a percentile: p(95), p(99), …, as in {name}: p(95)<800")
    return percent


def _limit(text: str, name: str, known: Measured, path: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise _fault(path, text, f"must be a number without its unit ({known.unit or 'a share'})")
    limit = float(text)
    if known.kind is Kind.SHARE and not SMALLEST_SHARE <= limit <= 1 - SMALLEST_SHARE:
        message = f"{name} is a share: from {SMALLEST_SHARE:.5f} to {1 - SMALLEST_SHARE:.5f}"
        raise _fault(path, text, f"{message}, as no number of requests shows it to be 0 or 1")
    if limit == float("inf"):
        raise _fault(path, text, "must be a finite number")
    return limit


def _fault(path: str, value: object, message: str) -> DocumentError:
    return DocumentError([Problem(path, value, message)])
