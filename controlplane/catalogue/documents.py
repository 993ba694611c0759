"""Catalogue objects as documents: the one parser behind forms, API, import and export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import yaml
from django.utils.text import slugify

from controlplane.catalogue.models import Endpoint, Tenant
from documents.canonical import sha256
from documents.fields import parameter
from documents.parse import build
from documents.problem import DocumentError, Problem
from loadtest.workloads.base import workloads
from measurement.slo import Slo as SloDocument
from schedulers.document import Policy as PolicyDocument

NAME_HELP = "letters, digits, dots and dashes; unique in the team"
MAX_TEXT = 200_000


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
        problems = [*_name_problems(self.name), *_url_problems(self.base_url)]
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


def parse_slo(given: object) -> Mapping[str, Any]:
    """The canonical SLO document; DocumentError lists every fault by path."""
    return SloDocument.parse(_mapping(given)).to_document()


def parse_policy(given: object) -> Mapping[str, Any]:
    return PolicyDocument.parse(_mapping(given)).to_document()


def parse_workload(given: object) -> Mapping[str, Any]:
    """A workload's ``kind`` and its parameters; what is left out keeps its default."""
    fields = dict(_mapping(given))
    cls = workloads.get(fields.pop("kind", None), path="kind")
    build(cls, fields)
    return dict(_mapping(given))


def read_yaml(text: str) -> Any:
    """One YAML document; a fault in the writing is told by its line."""
    if len(text) > MAX_TEXT:
        raise DocumentError([Problem("", f"{len(text)} characters", f"at most {MAX_TEXT:,}")])
    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        shown = text.splitlines()[mark.line] if mark and text.strip() else text[:80]
        raise DocumentError([Problem(where, shown, f"is not YAML: {error.problem}")]) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DocumentError([Problem("", text[:80], f"is not YAML: {error}")]) from None


def write_yaml(document: object) -> str:
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_flow_style=None)


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


def digest(document: Mapping[str, Any]) -> str:
    return sha256(document)


def _mapping(given: object) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise DocumentError([Problem("", given, "must be a mapping of field: value")])
    return given


def _name_problems(name: object) -> list[Problem]:
    if not isinstance(name, str) or not slugify(name) or slugify(name) != _plain(name):
        return [Problem("name", name, f"must be {NAME_HELP}")]
    if len(name) > 64:
        return [Problem("name", name, "must have at most 64 characters")]
    return []


def _plain(name: str) -> str:
    return name.lower().replace(".", "").replace(" ", "-")


def _url_problems(url: str) -> list[Problem]:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return [Problem("base_url", url, "is not a URL; write it as https://host:port")]
    if parts.username or parts.password:
        shown = f"{parts.scheme}://…@{parts.hostname}"
        return [Problem("base_url", shown, "must hold no credential; it has a field of its own")]
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return [Problem("base_url", url, "must start with http:// or https:// and name a host")]
    if parts.query or parts.fragment:
        return [Problem("base_url", url, "must have neither a query nor a fragment")]
    return []


def _length_problems(document: object, **most: int) -> list[Problem]:
    return [
        Problem(field, getattr(document, field), f"must have at most {limit} characters")
        for field, limit in most.items()
        if len(getattr(document, field)) > limit
    ]


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise DocumentError(problems)
