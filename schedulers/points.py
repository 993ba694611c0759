"""Which laws fill which decision point."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from documents.registry import Registry
from schedulers.admission import base as admission
from schedulers.batching import base as batching
from schedulers.concurrency import base as concurrency
from schedulers.decision import DecisionPoint
from schedulers.law import Law
from schedulers.ordering import base as ordering
from schedulers.preemption import base as preemption
from schedulers.retry import base as retry

REGISTRIES: Mapping[DecisionPoint, Registry[Any]] = MappingProxyType(
    {
        DecisionPoint.ADMISSION: admission.laws,
        DecisionPoint.ORDERING: ordering.laws,
        DecisionPoint.CONCURRENCY: concurrency.laws,
        DecisionPoint.BATCHING: batching.laws,
        DecisionPoint.PREEMPTION: preemption.laws,
        DecisionPoint.RETRY: retry.laws,
    }
)


def registered(point: DecisionPoint) -> Mapping[str, type[Law]]:
    """The laws of a point, by name."""
    return REGISTRIES[point].all()


def law_class(point: DecisionPoint, name: object, *, path: str) -> type[Law]:
    """The class of that law, or a DocumentError that says what there is instead."""
    found: type[Law] = REGISTRIES[point].get(name, path=path)
    return found
