"""What differs between two policy documents, parameter by parameter, in the laws' own words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controlplane.catalogue.documents import flat
from documents.fields import FieldInfo, describe
from schedulers.decision import DecisionPoint
from schedulers.points import registered


class Kind(StrEnum):
    """How a path differs. Another law at a decision point is told apart from its parameters."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    LAW = "law"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Change:
    """One leaf of either document. ``before`` or ``after`` is None where the leaf is missing."""

    path: str
    before: Any
    after: Any
    kind: Kind
    unit: str = ""
    help: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, all fields."""
        return {
            "path": self.path,
            "before": self.before,
            "after": self.after,
            "kind": str(self.kind),
            "unit": self.unit,
            "help": self.help,
        }


def parameter_diff(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Change]:
    """What differs from ``a`` to ``b``, in the documents' order."""
    return [one for one in _leaves(a, b) if one.kind is not Kind.SAME]


def parameters_kept(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Change]:
    """What is equal in both."""
    return [one for one in _leaves(a, b) if one.kind is Kind.SAME]


def _leaves(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Change]:
    old, new = flat(a), flat(b)
    known = _known(a) | _known(b)
    for path in dict.fromkeys([*old, *new]):
        info = known.get(path)
        yield Change(
            path,
            old.get(path),
            new.get(path),
            _kind(path, old, new),
            unit=info.unit if info else "",
            help=info.help if info else "",
        )


def _kind(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Kind:
    if path not in old:
        return Kind.ADDED
    if path not in new:
        return Kind.REMOVED
    if old[path] == new[path]:
        return Kind.SAME
    is_law = path.startswith("spec.") and path.endswith(".law") and path.count(".") == 2
    return Kind.LAW if is_law else Kind.CHANGED


def _known(document: Mapping[str, Any]) -> dict[str, FieldInfo]:
    """The parameters of the document's laws by path; none for a law that is no longer there."""
    spec = document.get("spec") or {}
    found: dict[str, FieldInfo] = {}
    for point in DecisionPoint:
        entry = spec.get(str(point)) or {}
        if law := registered(point).get(entry.get("law", "")):
            found |= {f"spec.{point}.{info.name}": info for info in describe(law)}
    return found
