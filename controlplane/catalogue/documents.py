"""Catalogue objects as documents: the one parser behind forms, API, import and export."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.text import slugify

from controlplane.catalogue.models import Endpoint, Tenant
from documents.canonical import sha256
from documents.fields import FieldInfo, describe, parameter
from documents.parse import build
from documents.problem import DocumentError, Problem
from loadtest.endpoint import plain_base
from loadtest.workloads.base import workloads
from measurement.slo import Slo as SloDocument
from schedulers.document import Policy as PolicyDocument

NAME_HELP = "letters, digits, dots and dashes; unique in the team"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class EndpointDocument:
    """What may be set on an endpoint. Its credential travels apart from it, as a Secret."""

    name: str = parameter(help=NAME_HELP)
    base_url: str = parameter(help="where the engine answers, such as https://llm.example.org")
    model: str = parameter(help="the model's name as the engine knows it")
    kind: str = parameter(
        default="openai", choices=tuple(Endpoint.Kind.values), help="which engine answers there"
    )
    max_rate: float | None = parameter(
        default=None, minimum=0, exclusive_minimum=True, unit="req/s", help="no run goes faster"
    )
    max_concurrency: int | None = parameter(
        default=None, minimum=1, maximum=100_000, unit="requests", help="no run holds more open"
    )
    max_duration_s: int | None = parameter(
        default=None, minimum=1, maximum=604_800, unit="s", help="no run lasts longer"
    )
    description: str = parameter(default="", help="for people")

    def __post_init__(self) -> None:
        problems = _name_problems(self.name)
        try:
            object.__setattr__(self, "base_url", plain_base(self.base_url, path="base_url"))
        except DocumentError as error:
            problems.extend(error.problems)
        if not self.model.strip():
            problems.append(Problem("model", self.model, "must not be empty"))
        problems.extend(_length_problems(self, base_url=400, model=200, description=400))
        _refuse(problems)


@dataclass(frozen=True, slots=True)
class TenantDocument:
    """What may be set on a tenant."""

    name: str = parameter(help=NAME_HELP)
    tier: str = parameter(
        default="normal", choices=tuple(Tenant.Tier.values), help="who goes first under pressure"
    )
    weight: float = parameter(
        default=1.0,
        minimum=0,
        maximum=1000,
        exclusive_minimum=True,
        help="share against tenants of the same tier",
    )
    tokens_per_min: int | None = parameter(
        default=None, minimum=1, maximum=2_000_000_000, unit="tokens/min", help="its budget"
    )
    description: str = parameter(default="", help="for people")

    def __post_init__(self) -> None:
        _refuse([*_name_problems(self.name), *_length_problems(self, description=400)])


@dataclass(frozen=True, slots=True)
class AliasDocument:
    """Where an alias is to point, and why."""

    version: int = parameter(
        minimum=1, maximum=2_000_000_000, help="number of the version to point at"
    )
    reason: str = parameter(default="", help="why, for whoever reads the history")


def parse_slo(given: object) -> Mapping[str, Any]:
    """The canonical SLO document; DocumentError lists every fault by path."""
    return SloDocument.parse(_mapping(given)).to_document()


def parse_policy(given: object) -> Mapping[str, Any]:
    return PolicyDocument.parse(_mapping(given)).to_document()


def parse_workload(given: object) -> Mapping[str, Any]:
    """A workload's ``kind`` with every parameter written out, so that a default can change."""
    fields = dict(_mapping(given))
    cls = workloads.get(fields.pop("kind", None), path="kind")
    made = build(cls, fields)
    return {"kind": cls.name, **{info.name: _read(made, info) for info in describe(cls)}}


def flat(document: object, path: str = "") -> dict[str, Any]:
    """Every leaf by its dotted path; a list is a leaf."""
    if not isinstance(document, Mapping) or not document:
        return {path: document}
    leaves: dict[str, Any] = {}
    for key, value in document.items():
        leaves |= flat(value, f"{path}.{key}" if path else str(key))
    return leaves


def name_of(document: Mapping[str, Any]) -> str:
    """``metadata.name`` of an SLO or policy, fit to be a catalogue name."""
    metadata = document.get("metadata") or {}
    name = metadata.get("name", "")
    problems = _name_problems(name)
    _refuse([problem.below("metadata") for problem in problems])
    return str(name)


def check_name(name: object) -> None:
    """DocumentError unless the name can stand in the catalogue."""
    _refuse(_name_problems(name))


def slug_of(name: str) -> str:
    """The name as it stands in addresses."""
    return slugify(name.replace(".", "-"))


def digest(document: Mapping[str, Any]) -> str:
    return sha256(document)


def _mapping(given: object) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise DocumentError([Problem("", given, "must be a mapping of field: value")])
    return given


def _read(made: object, info: FieldInfo) -> Any:
    value = getattr(made, info.attribute)
    return dict(value) if isinstance(value, Mapping) else value


def _name_problems(name: object) -> list[Problem]:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return []
    return [Problem("name", name, f"must be at most 64 {NAME_HELP}")]


def _length_problems(document: object, **most: int) -> list[Problem]:
    return [
        Problem(field, getattr(document, field), f"must have at most {limit} characters")
        for field, limit in most.items()
        if len(getattr(document, field)) > limit
    ]


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise DocumentError(problems)
