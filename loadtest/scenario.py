"""A scenario: endpoint + policy + workload + arrivals + SLO + seed, frozen. All that a run needs.

Parsed at the edge from a mapping, with every fault named by its path; written back with every
default filled in, so that two scenarios that mean the same have one hash. It has no place for a
credential: that travels beside it, in the environment of the process that sends.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from documents import canonical
from documents.fields import FieldInfo, describe, parameter
from documents.parse import build, check, unknown_keys
from documents.problem import DocumentError, Problem
from documents.registry import Registry
from loadtest import shadow_rules, transports
from loadtest.arrivals.base import ArrivalProcess, processes
from loadtest.behaviour import Cancellations, Retries
from loadtest.endpoint import Endpoint
from loadtest.workloads.base import Sessions, Workload, workloads
from measurement.slo import Slo
from schedulers.document import Policy

MAX_REQUESTS = 5_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a request may take at each step of its way. Always set, always shown."""

    connect_s: float = parameter(default=5.0, minimum=0.01, maximum=600, unit="s")
    first_token_s: float = parameter(default=60.0, minimum=0.01, maximum=3_600, unit="s")
    idle_s: float = parameter(
        default=30.0, minimum=0.01, maximum=3_600, unit="s", help="longest silence in a stream"
    )
    total_s: float = parameter(default=600.0, minimum=0.01, maximum=36_000, unit="s")


@dataclass(frozen=True, slots=True)
class Tenant:
    """What a policy may know of a tenant."""

    tier: str = parameter(default="normal", choices=("vip", "normal", "batch"))
    weight: float = parameter(default=1.0, minimum=0.0, exclusive_minimum=True, maximum=1_000)


@dataclass(frozen=True, slots=True)
class Scenario:
    endpoint: Endpoint
    workload: Workload
    arrivals: ArrivalProcess
    duration_s: float = parameter(
        minimum=0.1, maximum=86_400, unit="s", help="how long requests are offered"
    )
    policy: Policy | None = None
    shadow: Policy | None = None
    """Steps on what the policy's limiter sees, and is never obeyed."""
    slo: Slo | None = None
    seed: int = parameter(default=1, minimum=0, maximum=2**63 - 1, help="fixes the whole schedule")
    warm_up_s: float = parameter(
        default=0.0, minimum=0.0, maximum=86_400, unit="s", help="cut off the start of the report"
    )
    warm_up: str = parameter(
        default="seconds",
        choices=("seconds", "auto"),
        help="auto finds where the run became steady, and cuts no less than warm_up_s",
    )
    drain_s: float = parameter(
        default=30.0, minimum=0.0, maximum=3_600, unit="s", help="wait for answers at the end"
    )
    timeouts: Limits = Limits()
    tenants: Mapping[str, Tenant] = parameter(default_factory=dict)
    prompt_salt: str = parameter(
        default="", help="fixes the words of the prompts; empty draws new ones for each run"
    )

    retries: Retries | None = None
    cancellations: Cancellations | None = None
    transport: str = parameter(
        default=transports.AUTO,
        choices=transports.CHOICES,
        help="what carries the requests; auto takes the kernel's receive stamps where it can",
    )

    def __post_init__(self) -> None:
        problems = transports.problems(self.transport, self.endpoint.base_url)
        if self.warm_up_s >= self.duration_s:
            message = f"must be shorter than duration_s ({self.duration_s:g} s)"
            problems.append(Problem("warm_up_s", self.warm_up_s, message))
        expected = self.arrivals.expected(self.duration_s)
        if expected is not None and expected > MAX_REQUESTS:
            message = f"asks for {expected:,.0f} requests; at most {MAX_REQUESTS:,} in one run"
            problems.append(Problem("duration_s", self.duration_s, message))
        if isinstance(self.workload, Sessions) and self.arrivals.open_loop:
            message = f"must be closed: the turns of {self.workload.name} wait for their answers"
            problems.append(Problem("arrivals.process", self.arrivals.name, message))
        if self.shadow is not None:
            problems += shadow_rules.problems(self.policy, self.shadow)
        strangers = set(self.workload.tenants) - set(self.tenants) if self.tenants else set()
        problems += [
            Problem(f"workload.tenants.{name}", name, "is not among the scenario's tenants")
            for name in sorted(strangers)
        ]
        if problems:
            raise DocumentError(problems)

    @classmethod
    def parse(cls, given: object) -> Scenario:
        """A frozen scenario from a mapping, or DocumentError with every fault in it."""
        if not isinstance(given, Mapping):
            raise DocumentError([Problem("", given, "must be a mapping of field: value")])
        infos = {info.name: info for info in describe(cls)}
        problems = list(unknown_keys(given, infos))
        values: dict[str, Any] = {}
        for name, info in infos.items():
            if name not in given and not info.required:
                continue
            try:
                values[name] = _part(info, given)
            except DocumentError as error:
                problems.extend(error.problems)
        if problems:
            raise DocumentError(problems)
        return cls(**values)

    def to_document(self) -> dict[str, Any]:
        """The whole scenario with its defaults, as plain JSON values."""
        return {
            "endpoint": dataclasses.asdict(self.endpoint),
            "policy": self.policy.to_document() if self.policy else None,
            # Absent without one: scenarios from before there were shadows keep their hash.
            **({"shadow": self.shadow.to_document()} if self.shadow else {}),
            "workload": {"kind": self.workload.name, **_fields(self.workload)},
            "arrivals": {"process": self.arrivals.name, **_fields(self.arrivals)},
            "duration_s": self.duration_s,
            "slo": self.slo.to_document() if self.slo else None,
            "seed": self.seed,
            "warm_up_s": self.warm_up_s,
            # Absent unless asked for, for the same reason.
            **({"warm_up": self.warm_up} if self.warm_up != "seconds" else {}),
            "drain_s": self.drain_s,
            "timeouts": dataclasses.asdict(self.timeouts),
            "tenants": {name: dataclasses.asdict(tenant) for name, tenant in self.tenants.items()},
            "prompt_salt": self.prompt_salt,
            # Absent by default, so that older scenarios keep their hash.
            **({"retries": dataclasses.asdict(self.retries)} if self.retries else {}),
            **self._cancelled(),
            **({"transport": self.transport} if self.transport != transports.AUTO else {}),
        }

    def _cancelled(self) -> dict[str, Any]:
        asked = self.cancellations
        return {"cancellations": dataclasses.asdict(asked)} if asked else {}

    @property
    def sha256(self) -> str:
        """Hash of the canonical document."""
        return canonical.sha256(self.to_document())


def _part(info: FieldInfo, given: Mapping[str, Any]) -> Any:
    value = given.get(info.name)
    parser = _PARSERS.get(info.name)
    if parser is not None:
        return parser(value)
    if info.name not in given:
        raise DocumentError([Problem(info.name, None, f"is required; {info.help}")])
    return check(info, value, path=info.name)


def _registered(registry: Registry[Any], key: str, path: str) -> Callable[[Any], Any]:
    """A parser of ``{key: name, **parameters}`` for the things of one registry."""

    def parse(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise DocumentError([Problem(path, value, f"must be a mapping with {key}")])
        cls = registry.get(value.get(key), path=f"{path}.{key}")
        return build(cls, {name: item for name, item in value.items() if name != key}, path=path)

    return parse


def _document(parse: Callable[[Any], Any], path: str) -> Callable[[Any], Any]:
    """A parser of a document of another floor, or of null for none."""

    def parsed(value: Any) -> Any:
        if value is None:
            return None
        try:
            return parse(value)
        except DocumentError as error:
            raise error.below(path) from None

    return parsed


def _optional(cls: type[Any], path: str) -> Callable[[Any], Any]:
    """A parser of one part, or of null for none."""
    return lambda value: None if value is None else build(cls, value, path=path)


def _tenants(value: Any) -> Mapping[str, Tenant]:
    if not isinstance(value, Mapping):
        raise DocumentError([Problem("tenants", value, "must be a mapping of tenant: facts")])
    return {str(name): build(Tenant, item, path=f"tenants.{name}") for name, item in value.items()}


def _fields(thing: Any) -> dict[str, Any]:
    """Parameters of a registered thing as plain values."""
    return {
        info.name: dict(value) if isinstance(value, Mapping) else value
        for info in describe(type(thing))
        for value in (getattr(thing, info.attribute),)
    }


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "endpoint": lambda value: build(Endpoint, value, path="endpoint"),
    "policy": _document(Policy.parse, "policy"),
    "shadow": _document(Policy.parse, "shadow"),
    "slo": _document(Slo.parse, "slo"),
    "workload": _registered(workloads, "kind", "workload"),
    "arrivals": _registered(processes, "process", "arrivals"),
    "timeouts": lambda value: build(Limits, value, path="timeouts"),
    "retries": _optional(Retries, "retries"),
    "cancellations": _optional(Cancellations, "cancellations"),
    "tenants": _tenants,
}
