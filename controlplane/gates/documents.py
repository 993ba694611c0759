"""The gate document: which load, on what, judged by what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from controlplane.runs.launch import PASSED_ON, REFERENCES
from documents.fields import describe, parameter
from documents.parse import build, unknown_keys
from documents.problem import DocumentError, Problem
from loadtest.transports import CHOICES
from measurement.slo_parts import Metadata
from measurement.thresholds import Threshold, parse_all

API_VERSION, KIND = "headway/v1", "Gate"
OVERRIDABLE = ("policy", "endpoint")


@dataclass(frozen=True, slots=True)
class Spec:
    """References are slugs; ``policy`` and ``slo`` may name a version, as in ``steady@3``."""

    endpoint: str = parameter(help="slug of the endpoint that is loaded")
    policy: str = parameter(help="slug (the newest version), slug@version or slug@alias")
    workload: str = parameter(help="slug of the workload")
    arrivals: Mapping[str, Any] = parameter(help="process and its parameters")
    duration_s: float = parameter(minimum=0.1, maximum=86_400, unit="s")
    slo: str | None = parameter(default=None, help="slug of the SLO, or slug@version")
    warm_up_s: float = parameter(default=0.0, minimum=0, maximum=86_400, unit="s")
    warm_up: str | None = parameter(default=None, choices=("seconds", "auto"))
    drain_s: float = parameter(default=30.0, minimum=0, maximum=3_600, unit="s")
    timeouts: Mapping[str, Any] | None = parameter(default=None)
    seed: int | None = parameter(default=None, minimum=0, maximum=2**63 - 1)
    prompt_salt: str | None = parameter(default=None)
    transport: str | None = parameter(default=None, choices=CHOICES)
    retries: Mapping[str, Any] | None = parameter(default=None)
    cancellations: Mapping[str, Any] | None = parameter(default=None)
    thresholds: tuple[Threshold, ...] = parameter(default=())
    overrides: tuple[str, ...] = parameter(
        default=(), help="which of policy and endpoint a caller may replace"
    )

    def __post_init__(self) -> None:
        problems = [
            Problem(name, value, "must be a mapping of field: value")
            for name in ("arrivals", "timeouts", "retries", "cancellations")
            for value in (getattr(self, name),)
            if not isinstance(value, Mapping | None)
        ]
        if self.slo is None and not self.thresholds:
            remedy = "give an slo, thresholds, or both: a gate without either would always pass"
            problems.append(Problem("thresholds", None, remedy))
        if problems:
            raise DocumentError(problems)


@dataclass(frozen=True, slots=True)
class GateDocument:
    metadata: Metadata
    spec: Spec

    @classmethod
    def parse(cls, given: object) -> GateDocument:
        """From a mapping; DocumentError lists every fault by its path."""
        if not isinstance(given, Mapping):
            raise DocumentError([Problem("", given, "must be a mapping of field: value")])
        problems = list(unknown_keys(given, ("apiVersion", "kind", "metadata", "spec")))
        for key, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
            if given.get(key) != wanted:
                problems.append(Problem(key, given.get(key), f"must be {wanted}"))
        parts: dict[str, Any] = {}
        for name, parse in (("metadata", _metadata), ("spec", _spec)):
            try:
                parts[name] = parse(given.get(name))
            except DocumentError as error:
                problems.extend(error.problems)
        if problems:
            raise DocumentError(problems)
        return cls(**parts)

    def to_document(self) -> dict[str, Any]:
        """The whole document with its defaults; what was left open stays open."""
        metadata = asdict(self.metadata)
        metadata["labels"] = dict(self.metadata.labels)
        spec = {info.name: getattr(self.spec, info.attribute) for info in describe(Spec)}
        spec["thresholds"] = [str(one) for one in self.spec.thresholds]
        spec["overrides"] = list(self.spec.overrides)
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": metadata,
            "spec": {name: value for name, value in spec.items() if value is not None},
        }

    def launch(self, overrides: Mapping[str, Any]) -> dict[str, Any]:
        """What a request for a run would say."""
        asked = {name: getattr(self.spec, name) for name in (*REFERENCES, *PASSED_ON)}
        return {name: value for name, value in asked.items() if value is not None} | overrides


def check_overrides(spec: Spec, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a caller may replace; DocumentError for a field that this gate does not let go."""
    problems = list(unknown_keys(given, OVERRIDABLE))
    problems += [
        Problem(name, given[name], f"this gate does not allow it; add {name} to its overrides")
        for name in OVERRIDABLE
        if name in given and name not in spec.overrides
    ]
    if problems:
        raise DocumentError(problems)
    return dict(given)


def _metadata(given: object) -> Metadata:
    return build(Metadata, given, path="metadata")


def _spec(given: object) -> Spec:
    if not isinstance(given, Mapping):
        raise DocumentError([Problem("spec", given, "must be a mapping of field: value")])
    read, problems = _lists(given)
    try:
        spec = build(Spec, {**given, **read}, path="spec")
    except DocumentError as error:
        problems += error.problems
    if problems:
        raise DocumentError(problems)
    return spec


def _lists(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Thresholds and overrides; one at fault stands as given, so that it is not told twice."""
    read: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, parse in (("thresholds", parse_all), ("overrides", _overrides)):
        if name not in given:
            continue
        try:
            read[name] = parse(given[name], path=f"spec.{name}")
        except DocumentError as error:
            problems += error.problems
    return read, problems


def _overrides(given: object, *, path: str) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(one in OVERRIDABLE for one in given):
        wanted = f"must be a list of {' and '.join(OVERRIDABLE)}"
        raise DocumentError([Problem(path, given, wanted)])
    return tuple(name for name in OVERRIDABLE if name in given)
