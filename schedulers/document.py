"""The policy document: which law fills which decision point, with which parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, overload

from documents import canonical
from documents.fields import describe, parameter
from documents.parse import build, unknown_keys
from documents.problem import DocumentError, Problem
from documents.yaml_text import parse_yaml, to_yaml
from schedulers.admission.base import AdmissionLaw
from schedulers.concurrency.base import ConcurrencyLaw
from schedulers.decision import DecisionPoint
from schedulers.law import Law
from schedulers.ordering.base import OrderingLaw
from schedulers.points import law_class
from schedulers.retry.base import RetryLaw

__all__ = ["API_VERSION", "KIND", "Metadata", "Policy", "parse_yaml", "to_yaml"]

API_VERSION = "headway/v1"
KIND = "Policy"
SLUG = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
SLUG_RULE = "1 to 63 small letters, digits and hyphens, with a letter or digit at both ends"
LABEL_KEY = r"^[A-Za-z0-9]([A-Za-z0-9_./-]{0,61}[A-Za-z0-9])?$"
LABEL_RULE = "1 to 63 letters, digits and _ . / -, with a letter or digit at both ends"
MAX_LABELS = 32
MAX_LABEL = 63
MAX_OWNER = 63
MAX_DESCRIPTION = 2000


@dataclass(frozen=True)
class Metadata:
    """Who the policy is: its name in the catalogue, who answers for it, and what it is for."""

    name: str = parameter(help=f"The name in the catalogue: {SLUG_RULE}.")
    owner: str = parameter(default="", help="The team or person who answers for it.")
    description: str = parameter(default="", help="What it is for, in a sentence or two.")
    labels: Mapping[str, str] = parameter(default_factory=dict, help="Free keys with text.")

    def __post_init__(self) -> None:
        problems = []
        if not re.fullmatch(SLUG[1:-1], self.name):
            problems.append(Problem("name", self.name, f"must be {SLUG_RULE}"))
        problems.extend(_text_problems("owner", self.owner, MAX_OWNER))
        problems.extend(_text_problems("description", self.description, MAX_DESCRIPTION))
        problems.extend(_label_problems(self.labels))
        if problems:
            raise DocumentError(problems)


@dataclass(frozen=True)
class Policy:
    """One immutable document. Two documents that say the same have one hash, however written."""

    metadata: Metadata
    laws: Mapping[DecisionPoint, Law]

    @property
    def name(self) -> str:
        """The name in the catalogue."""
        return self.metadata.name

    @classmethod
    def parse(cls, given: object) -> Policy:
        """A policy from a mapping, or a DocumentError with every fault that was found."""
        if not isinstance(given, Mapping):
            raise DocumentError([Problem("", given, "must be a mapping with metadata and spec")])
        problems = list(unknown_keys(given, ("apiVersion", "kind", "metadata", "spec")))
        for key, value in (("apiVersion", API_VERSION), ("kind", KIND)):
            if given.get(key) != value:
                problems.append(Problem(key, given.get(key), f"must be {value!r}"))
        metadata, laws = None, {}
        with _gathering(problems):
            metadata = build(Metadata, given.get("metadata"), path="metadata")
        with _gathering(problems):
            laws = _laws(given.get("spec"))
        if problems or metadata is None:
            raise DocumentError(problems)
        return cls(metadata, laws)

    def to_document(self) -> dict[str, Any]:
        """The document with every parameter written out, so that a default can change later."""
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {
                "name": self.metadata.name,
                "owner": self.metadata.owner,
                "description": self.metadata.description,
                "labels": dict(self.metadata.labels),
            },
            "spec": {
                str(point): {"law": law.name, **parameters(law)} for point, law in self.laws.items()
            },
        }

    @cached_property
    def sha256(self) -> str:
        """The hash of the canonical document: the name of this version."""
        return canonical.sha256(self.to_document())

    @overload
    def law(
        self, point: Literal["concurrency", DecisionPoint.CONCURRENCY]
    ) -> ConcurrencyLaw[Any] | None: ...
    @overload
    def law(
        self, point: Literal["admission", DecisionPoint.ADMISSION]
    ) -> AdmissionLaw[Any] | None: ...
    @overload
    def law(
        self, point: Literal["ordering", DecisionPoint.ORDERING]
    ) -> OrderingLaw[Any] | None: ...
    @overload
    def law(self, point: Literal["retry", DecisionPoint.RETRY]) -> RetryLaw[Any] | None: ...
    @overload
    def law(self, point: str) -> Law | None: ...
    def law(self, point: str) -> Any:
        """The law that fills a decision point, or None where the policy leaves it open."""
        return self.laws.get(DecisionPoint(point))

    def with_parameter(self, path: str, value: object) -> Policy:
        """The same policy with one parameter changed: ``concurrency.limit``."""
        point, _, name = path.removeprefix("spec.").partition(".")
        document = self.to_document()
        entry = document["spec"].get(point)
        if entry is None:
            filled = ", ".join(document["spec"])
            message = f"is no decision point of this policy; it fills: {filled}"
            raise DocumentError([Problem(f"spec.{point}", None, message)])
        known = [key for key in entry if key != "law"]
        problems = list(unknown_keys({name: value}, known, path=f"spec.{point}"))
        if problems:
            raise DocumentError(problems)
        entry[name] = value
        return Policy.parse(document)


def parameters(law: Law) -> dict[str, Any]:
    """A law's parameters by the names that documents use."""
    return {info.name: getattr(law, info.attribute) for info in describe(type(law))}


@contextmanager
def _gathering(problems: list[Problem]) -> Iterator[None]:
    """Keep the faults of one part, and read on with the next."""
    try:
        yield
    except DocumentError as error:
        problems.extend(error.problems)


def _laws(spec: object) -> dict[DecisionPoint, Law]:
    points = [str(point) for point in DecisionPoint]
    if not isinstance(spec, Mapping) or not spec:
        message = f"must fill at least one decision point: {', '.join(points)}"
        raise DocumentError([Problem("spec", spec, message)])
    problems = list(unknown_keys(spec, points, path="spec"))
    laws: dict[DecisionPoint, Law] = {}
    for point in DecisionPoint:
        if str(point) in spec:
            with _gathering(problems):
                laws[point] = _law(point, spec[str(point)])
    if problems:
        raise DocumentError(problems)
    return laws


def _law(point: DecisionPoint, entry: object) -> Law:
    path = f"spec.{point}"
    if not isinstance(entry, Mapping):
        raise DocumentError([Problem(path, entry, "must be a mapping with a law")])
    cls = law_class(point, entry.get("law"), path=f"{path}.law")
    return build(cls, {key: entry[key] for key in entry if key != "law"}, path=path)


def _label_problems(labels: object) -> Iterator[Problem]:
    if not isinstance(labels, Mapping):
        yield Problem("labels", labels, "must be a mapping of text to text")
        return
    if len(labels) > MAX_LABELS:
        yield Problem("labels", f"{len(labels)} labels", f"must not be more than {MAX_LABELS}")
    for key, value in labels.items():
        if not isinstance(key, str) or not re.fullmatch(LABEL_KEY[1:-1], key):
            yield Problem(f"labels.{key}", key, f"the key must be {LABEL_RULE}")
        yield from _text_problems(f"labels.{key}", value, MAX_LABEL)


def _text_problems(path: str, value: object, most: int) -> Iterator[Problem]:
    """Text that every store and every page can hold: capped, no NUL, no lone surrogate."""
    if not isinstance(value, str):
        yield Problem(path, value, "must be text")
    elif len(value) > most:
        yield Problem(path, f"{len(value)} characters", f"must not exceed {most} characters")
    elif any(char == "\0" or "\ud800" <= char <= "\udfff" for char in value):
        yield Problem(path, value, "must not hold NUL or unpaired surrogates")
