"""What the apps above the catalogue know of a policy version; each adds its own when it starts.

The catalogue shows who uses a version and what was measured of it without importing who measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controlplane.catalogue.models import PolicyVersion


@dataclass(frozen=True, slots=True)
class Use:
    """Something that takes this version now; ``how`` is the reference that it holds."""

    noun: str
    name: str
    href: str
    how: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One piece of evidence. ``tone`` is a verdict or a status; ``attainment`` a share of n."""

    what: str
    name: str
    href: str
    where: str
    at: datetime
    tone: str
    word: str
    n: int | None = None
    attainment: float | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """The run that speaks for one version in a metric diff."""

    run: str
    href: str
    at: datetime
    seed: int


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of both runs, in ``unit``; None where it is unknown or its n is too small."""

    name: str
    unit: str
    digits: int
    before: float | None
    after: float | None
    n_before: int
    n_after: int


@dataclass(frozen=True, slots=True)
class Pair:
    """The newest run of each of two versions under one and the same load."""

    load: str
    slo: str
    before: Side
    after: Side
    figures: Sequence[Figure]


def _none(*_versions: PolicyVersion) -> Iterable[Any]:
    return ()


@dataclass(frozen=True, slots=True)
class Source:
    """What one app can say. Each function is read anew for every page."""

    uses: Callable[[PolicyVersion], Iterable[Use]] = _none
    entries: Callable[[PolicyVersion], Iterable[Entry]] = _none
    pairs: Callable[[PolicyVersion, PolicyVersion], Iterable[Pair]] = _none


_SOURCES: dict[str, Source] = {}


def add(app: str, source: Source) -> None:
    """Called once by an app's ``ready``; the same app's later source takes the earlier's place."""
    _SOURCES[app] = source


def uses(version: PolicyVersion) -> list[Use]:
    """Who takes this version now, by app."""
    return [one for source in _SOURCES.values() for one in source.uses(version)]


def entries(version: PolicyVersion) -> list[Entry]:
    """Newest first."""
    found = [one for source in _SOURCES.values() for one in source.entries(version)]
    return sorted(found, key=lambda one: one.at, reverse=True)


def pairs(a: PolicyVersion, b: PolicyVersion) -> list[Pair]:
    """Runs of both versions that can be laid side by side; none of a version with itself."""
    if a.pk == b.pk:
        return []
    return [one for source in _SOURCES.values() for one in source.pairs(a, b)]
