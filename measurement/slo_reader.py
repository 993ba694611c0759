"""Reading an SLO document: every fault found is told, with its path and its remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from documents.fields import describe, parameter
from documents.parse import build, check
from documents.problem import DocumentError, Problem
from measurement.objectives import METRICS, Objective
from measurement.slo_parts import Band, Metadata, Override

API_VERSION = "headway/v1"
KIND = "SLO"
MAX_BANDS = 64
MAX_TENANTS = 1_000
"""Each tenant has a table of every threshold by every band's edge."""


@dataclass(frozen=True, slots=True)
class _Head:
    """The document's outermost fields, as they are given."""

    apiVersion: str = parameter(choices=(API_VERSION,))  # noqa: N815 - the document's own spelling
    kind: str = parameter(choices=(KIND,))
    metadata: object = parameter()
    spec: object = parameter()


SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
LONGEST_S = 366 * SECONDS["d"]
"""Counts are kept for two windows: a budget over centuries is a slip of the hand."""


@dataclass(frozen=True, slots=True)
class _Spec:
    """The spec's fields, as they are given."""

    target: float = parameter(
        minimum=0,
        exclusive_minimum=True,
        maximum=0.99999,
        help="share of offered requests that must meet every objective",
    )
    objectives: object = parameter()
    window: str = parameter(default="28d", help="over what the budget is counted")
    bands: object = parameter(default=None)
    tenants: object = parameter(default=None)


def read(given: object) -> dict[str, Any]:
    """The fields of an Slo, or DocumentError with everything that is wrong with it."""
    head = build(_Head, given)
    problems: list[Problem] = []
    metadata = _collect(problems, build, Metadata, head.metadata, path="metadata")
    spec = _collect(problems, build, _Spec, head.spec, path="spec")
    if spec is None or metadata is None:
        raise DocumentError(problems)
    objectives = _collect(problems, _objectives, spec.objectives) or ()
    about = [objective.metric for objective in objectives] or list(METRICS)
    metrics = tuple(metric for metric in about if metric != "error")
    bands = _collect(problems, _bands, spec.bands, metrics, path="spec.bands") or ()
    tenants = _collect(problems, _tenants, spec.tenants, metrics) or {}
    if (period := period_of(spec.window)) is None or period > LONGEST_S:
        wanted = "must be a whole number and one of s, m, h, d, w, as 28d; at most 366d"
        problems.append(Problem("spec.window", spec.window, wanted))
    if problems:
        raise DocumentError(problems)
    return {
        "metadata": metadata,
        "objectives": objectives,
        "target": spec.target,
        "window": spec.window,
        "bands": bands,
        "tenants": tenants,
    }


def period_of(window: str) -> float | None:
    """Seconds of a span such as ``28d``; None where it is none."""
    if not re.fullmatch(r"[1-9][0-9]*[smhdw]", window):
        return None
    return float(window[:-1]) * SECONDS[window[-1]]


def _collect(problems: list[Problem], parser: Any, *args: Any, **kwargs: Any) -> Any:
    """What the parser makes, or None with its faults added to the list."""
    try:
        return parser(*args, **kwargs)
    except DocumentError as error:
        problems.extend(error.problems)
        return None


def _objectives(given: object) -> tuple[Objective, ...]:
    path = "spec.objectives"
    if not isinstance(given, list | tuple) or not given:
        raise DocumentError([Problem(path, given, "must be a list of at least one objective")])
    problems: list[Problem] = []
    found = [
        _collect(problems, build, Objective, item, path=f"{path}.{place}")
        for place, item in enumerate(given)
    ]
    names = [objective.metric for objective in found if objective is not None]
    problems += [
        Problem(f"{path}.{place}.metric", name, "is given twice; one objective a metric")
        for place, name in enumerate(names)
        if name in names[:place]
    ]
    if problems:
        raise DocumentError(problems)
    return tuple(found)


def _bands(given: object, metrics: tuple[str, ...], *, path: str) -> tuple[Band, ...]:
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise DocumentError([Problem(path, given, "must be a list of bands")])
    if len(given) > MAX_BANDS:
        raise DocumentError([Problem(path, len(given), f"must be at most {MAX_BANDS} bands")])
    problems: list[Problem] = []
    found = [
        _collect(problems, _band, item, metrics, path=f"{path}.{place}")
        for place, item in enumerate(given)
    ]
    if problems:
        raise DocumentError(problems)
    return tuple(found)


def _band(given: object, metrics: tuple[str, ...], *, path: str) -> Band:
    mapping = _mapping(given, path)
    edge = mapping.get("prompt_tokens_over")
    problems = []
    if isinstance(edge, bool) or not isinstance(edge, int) or edge < 0:
        where = f"{path}.prompt_tokens_over"
        problems.append(Problem(where, edge, "must be a whole number of at least 0 tokens"))
    rest = {key: value for key, value in mapping.items() if key != "prompt_tokens_over"}
    maxima = _collect(problems, _maxima, rest, metrics, path=path)
    if problems:
        raise DocumentError(problems)
    return Band(int(mapping["prompt_tokens_over"]), maxima)


def _tenants(given: object, metrics: tuple[str, ...]) -> dict[str, Override]:
    path = "spec.tenants"
    if given is None:
        return {}
    if len(_mapping(given, path)) > MAX_TENANTS:
        message = f"must be at most {MAX_TENANTS:,} tenants"
        raise DocumentError([Problem(path, len(_mapping(given, path)), message)])
    problems: list[Problem] = []
    found = {
        str(name): _collect(problems, _override, item, metrics, path=f"{path}.{name}")
        for name, item in _mapping(given, path).items()
    }
    if problems:
        raise DocumentError(problems)
    return found


def _override(given: object, metrics: tuple[str, ...], *, path: str) -> Override:
    mapping = _mapping(given, path)
    problems: list[Problem] = []
    bands = _collect(problems, _bands, mapping.get("bands"), metrics, path=f"{path}.bands")
    target = mapping.get("target")
    if target is not None:
        info = next(info for info in describe(_Spec) if info.name == "target")
        target = _collect(problems, check, info, target, path=f"{path}.target")
    rest = {key: value for key, value in mapping.items() if key not in ("bands", "target")}
    maxima = _collect(problems, _maxima, rest, metrics, path=path)
    if problems:
        raise DocumentError(problems)
    return Override(maxima, target, bands)


def _mapping(given: object, path: str) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise DocumentError([Problem(path, given, "must be a mapping of field: value")])
    return given


def _maxima(given: Mapping[Any, Any], metrics: tuple[str, ...], *, path: str) -> dict[str, float]:
    """Thresholds by metric; only of metrics that an objective is about."""
    info = next(info for info in describe(Objective) if info.name == "max")
    problems: list[Problem] = []
    maxima = {}
    for key, value in given.items():
        where = f"{path}.{key}"
        if key not in metrics:
            known = "no objective is about this metric" if key in METRICS else "unknown metric"
            problems.append(Problem(where, value, f"{known}; known here: {', '.join(metrics)}"))
        else:
            maxima[key] = _collect(problems, check, info, value, path=where)
    if problems:
        raise DocumentError(problems)
    return maxima
