"""Which laws fill which decision point. A new family adds its registry here, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from documents.problem import DocumentError, Problem
from documents.registry import Registry
from schedulers.concurrency import base as concurrency
from schedulers.decision import DecisionPoint
from schedulers.law import Law

REGISTRIES: Mapping[DecisionPoint, Registry[Any]] = MappingProxyType(
    {DecisionPoint.CONCURRENCY: concurrency.laws}
)


def registered(point: DecisionPoint) -> Mapping[str, type[Law]]:
    """The laws of a point, by name; none where this version has no family for it."""
    registry = REGISTRIES.get(point)
    return registry.all() if registry else {}


def law_class(point: DecisionPoint, name: object, *, path: str) -> type[Law]:
    """The class of that law, or a DocumentError that says what there is instead."""
    registry = REGISTRIES.get(point)
    if registry is None:
        message = (
            f"no {point} law is registered in this version; "
            f"points with laws: {', '.join(REGISTRIES)}"
        )
        raise DocumentError([Problem(path, name, message)])
    found: type[Law] = registry.get(name, path=path)
    return found
