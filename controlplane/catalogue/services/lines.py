"""Lines of immutable versions: SLOs, policies, gates. A changed document adds a version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db import transaction

from controlplane.catalogue import documents
from controlplane.catalogue.models import Owned, Policy, PolicyVersion, Slo, SloVersion, Version
from controlplane.catalogue.services.writing import Guard, free_slug, may_write, note, unguarded
from controlplane.teams.rights import Actor
from documents.problem import DocumentError, Problem

L = TypeVar("L", bound=Owned)
V = TypeVar("V", bound=Version)


@dataclass(frozen=True, slots=True)
class Saved(Generic[L, V]):
    """The version that the document has now; ``new`` is False when it was there already."""

    line: L
    version: V
    new: bool


@dataclass(frozen=True, slots=True)
class Proposal:
    """A policy's next document before it is saved; ``equal`` is the version that says the same."""

    document: Mapping[str, Any]
    sha256: str
    equal: PolicyVersion | None


@dataclass(frozen=True, slots=True)
class Kind(Generic[L, V]):
    """A sort of line: its rows, and the parser that makes a document canonical."""

    noun: str
    line: type[L]
    version: type[V]
    parse: Callable[[object], Mapping[str, Any]]
    lineage: bool = False
    """Whether its versions say which one they were made from."""


_SLO = Kind("slo", Slo, SloVersion, documents.parse_slo)
_POLICY = Kind("policy", Policy, PolicyVersion, documents.parse_policy, lineage=True)


def save_slo(
    *, actor: Actor, document: object, line: Slo | None = None, guard: Guard = unguarded
) -> Saved[Slo, SloVersion]:
    """A new SLO, or with ``line`` its next version; an equal document adds none."""
    return save(_SLO, actor, line, document, guard)


def save_policy(
    *,
    actor: Actor,
    document: object,
    line: Policy | None = None,
    guard: Guard = unguarded,
    based_on: int | None = None,
) -> Saved[Policy, PolicyVersion]:
    """A new policy, or with ``line`` its next version; a document equal to the newest adds none.

    ``based_on`` is the number of the version that its author began with; the newest unless said.
    """
    return save(_POLICY, actor, line, document, guard, based_on)


def save(
    kind: Kind[L, V],
    actor: Actor,
    line: L | None,
    given: object,
    guard: Guard = unguarded,
    based_on: int | None = None,
) -> Saved[L, V]:
    """The next version of the line, or a new line with its first; an equal document adds none."""
    verb = f"create_{kind.noun}" if line is None else f"change_{kind.noun}"
    may_write(actor, verb, kind.noun, line.name if line else "")
    document = _parsed(kind, line, given)
    name = documents.name_of(document)
    with transaction.atomic():
        before = None
        if line is None:
            slug = free_slug(actor, kind.line, name, path="metadata.name")
            line = kind.line.objects.create(team=actor.team, name=name, slug=slug)
            number = 1
        else:
            line = kind.line.objects.select_for_update().get(pk=line.pk)
            guard(line)
            latest = line.latest
            if latest.sha256 == documents.digest(document):
                return Saved(line, latest, new=False)
            before, number = latest.document, latest.number + 1
            based_on = based_on or latest.number
        line.description = str((document.get("metadata") or {}).get("description", ""))[:400]
        line.save()
        version = kind.version.objects.create(
            line=line,
            number=number,
            document=document,
            sha256=documents.digest(document),
            created_by=actor.user,
            **({"based_on": based_on} if kind.lineage else {}),
        )
        note(actor, verb, line, before=before, after=document, version=number)
    return Saved(line, version, new=True)


def propose(line: Policy, given: object) -> Proposal:
    """What saving would store, with nothing written; DocumentError as ``save_policy`` has it."""
    document = _parsed(_POLICY, line, given)
    digest = documents.digest(document)
    equal = line.versions.filter(sha256=digest).order_by("-number").first()
    return Proposal(document, digest, equal)


def _parsed(kind: Kind[L, V], line: L | None, given: object) -> dict[str, Any]:
    """The canonical document, under the name that its line has."""
    document = dict(kind.parse(given))
    name = documents.name_of(document)
    if line is not None and name != line.name:
        raise DocumentError([Problem("metadata.name", name, _renamed(kind.noun, line.name))])
    return document


def _renamed(noun: str, name: str) -> str:
    return (
        f"must stay {name!r}: a version keeps its line's name; for another name make a new {noun}"
    )
