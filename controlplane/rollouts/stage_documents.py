"""The stages of a rollout's plan: what each does, for how long, and what it must show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from controlplane.teams.models import Role
from documents.fields import describe, parameter
from documents.parse import build
from documents.problem import DocumentError, Problem
from measurement.comparison.confidence_sequence import LEAST_BLOCKS
from measurement.comparison.criterion import Criterion
from measurement.comparison.fixed_budget import LEAST_PLANNED
from schedulers.enforcement import Host

APPROVING_ROLES = (Role.APPROVER.value, Role.ADMIN.value)
MOST_APPROVALS = 10


def _approvals(default: int) -> Any:
    return parameter(
        default=default,
        minimum=0,
        maximum=MOST_APPROVALS,
        help="people who must approve before the stage begins; never the author or last editor",
    )


def _role() -> Any:
    return parameter(
        default=Role.APPROVER.value, choices=APPROVING_ROLES, help="the least role that approves"
    )


def _deadline() -> Any:
    return parameter(
        default=None,
        unit="s",
        minimum=1,
        maximum=30 * 86_400,
        help="undecided by then, it holds and asks a person; without one, four times what it plans",
    )


@dataclass(frozen=True, slots=True)
class Replay:
    """What the model and the load test share: one schedule, asked of both versions."""

    kind: ClassVar[str]
    title: ClassVar[str]
    host: ClassVar[Host]
    acts_on_traffic: ClassVar[bool] = False
    compares: ClassVar[bool] = True

    arrivals: Mapping[str, Any] = parameter(help="process and its parameters")
    blocks: int = parameter(default=LEAST_PLANNED, minimum=LEAST_PLANNED, maximum=10_000)
    block_s: float = parameter(default=10.0, unit="s", minimum=1, maximum=3_600)
    washout_s: float | None = parameter(
        default=None, unit="s", minimum=0, maximum=3_600, help="without one, a third of a block"
    )
    margins: Mapping[str, float] = parameter(
        default_factory=dict, help="pass margins by criterion, where they differ from the usual"
    )
    bases: Mapping[str, float] = parameter(
        default_factory=dict, help="the baseline's share of bad requests, as far as it is known"
    )
    profile: str | None = parameter(
        default=None, help="engine profile of what is simulated; without one, the usual"
    )
    deadline_s: float | None = _deadline()
    approvals: int = _approvals(0)
    role: str = _role()

    def __post_init__(self) -> None:
        problems = [
            Problem(name, value, "must be a mapping of field: value")
            for name, value in (
                ("arrivals", self.arrivals),
                ("margins", self.margins),
                ("bases", self.bases),
            )
            if not isinstance(value, Mapping)
        ]
        if problems:
            raise DocumentError(problems)

    @property
    def planned_s(self) -> float:
        """How long it takes by the clock of the load."""
        return self.blocks * self.block_s


@dataclass(frozen=True, slots=True)
class ModelStage(Replay):
    """Both versions in the engine model, in virtual time."""

    kind = "model"
    title = "Model"
    host = Host.ENGINE_MODEL


@dataclass(frozen=True, slots=True)
class LoadTestStage(Replay):
    """Both versions against two equal engines, over HTTP."""

    kind = "load_test"
    title = "Load test"
    host = Host.LOAD_TEST

    endpoints: tuple[str, ...] = parameter(
        default=(), help="slugs of two equal endpoints; without them, two fresh simulated engines"
    )

    def __post_init__(self) -> None:
        Replay.__post_init__(self)
        given: object = self.endpoints
        if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
            raise DocumentError([Problem("endpoints", given, "must be a list of slugs")])
        if len(set(given)) != len(given) or len(given) not in (0, 2):
            raise DocumentError([Problem("endpoints", list(given), "must be none or two of them")])
        object.__setattr__(self, "endpoints", tuple(given))


@dataclass(frozen=True, slots=True)
class ShadowStage:
    """The candidate decides beside live traffic, and nobody obeys."""

    kind: ClassVar[str] = "shadow"
    title: ClassVar[str] = "Shadow"
    host: ClassVar[Host] = Host.GATEWAY
    acts_on_traffic: ClassVar[bool] = False
    compares: ClassVar[bool] = False

    bake_s: float = parameter(default=600.0, unit="s", minimum=1, maximum=7 * 86_400)
    least_steps: int = parameter(
        default=100, minimum=1, maximum=10**9, help="decisions it must have stepped on"
    )
    agreement: float = parameter(
        default=0.0, minimum=0, maximum=1, help="least share of steps at which the limits agree"
    )
    held_margin: float = parameter(
        default=0.2, minimum=0, maximum=1, help="most of the grants that it would have held back"
    )
    sent_margin: float = parameter(
        default=1.0, minimum=0, maximum=1, help="most of the steps at which it would have sent more"
    )
    deciding_us: float = parameter(
        default=1000.0, unit="µs", minimum=0, exclusive_minimum=True, help="most of a step's mean"
    )
    deadline_s: float | None = _deadline()
    approvals: int = _approvals(0)
    role: str = _role()

    @property
    def planned_s(self) -> float:
        """Its bake time."""
        return self.bake_s


@dataclass(frozen=True, slots=True)
class CanaryStage:
    """The candidate on one of two equal lanes, drawn anew for each block."""

    kind: ClassVar[str] = "canary"
    title: ClassVar[str] = "Canary"
    host: ClassVar[Host] = Host.GATEWAY
    acts_on_traffic: ClassVar[bool] = True
    compares: ClassVar[bool] = True

    weight: float = parameter(
        default=0.5, minimum=0, exclusive_minimum=True, maximum=0.5, help="share of each lane"
    )
    blocks: int = parameter(default=120, minimum=LEAST_BLOCKS, maximum=2_000)
    floor_s: float = parameter(default=30.0, unit="s", minimum=1, maximum=3_600)
    bake_s: float = parameter(default=0.0, unit="s", minimum=0, maximum=7 * 86_400)
    requests: int = parameter(default=60, minimum=1, maximum=100_000, help="an arm and block")
    criteria: tuple[Criterion, ...] = parameter(default=(), help="what is compared, with margins")
    deadline_s: float | None = _deadline()
    approvals: int = _approvals(1)
    role: str = _role()

    @property
    def planned_s(self) -> float:
        """At the least, with slots of the floor's length."""
        return max(self.bake_s, self.blocks * self.floor_s)


@dataclass(frozen=True, slots=True)
class FullStage:
    """The candidate becomes the gateway's active version, and is watched once more."""

    kind: ClassVar[str] = "full"
    title: ClassVar[str] = "Full"
    host: ClassVar[Host] = Host.GATEWAY
    acts_on_traffic: ClassVar[bool] = True
    compares: ClassVar[bool] = False

    bake_s: float = parameter(
        default=60.0, unit="s", minimum=1, maximum=7 * 86_400, help="served everywhere, unharmed"
    )
    deadline_s: float | None = _deadline()
    approvals: int = _approvals(1)
    role: str = _role()

    @property
    def planned_s(self) -> float:
        """Its bake time."""
        return self.bake_s


Stage = ModelStage | LoadTestStage | ShadowStage | CanaryStage | FullStage
STAGES: Mapping[str, type[Stage]] = MappingProxyType(
    {one.kind: one for one in (ModelStage, LoadTestStage, ShadowStage, CanaryStage, FullStage)}
)
ORDER = tuple(STAGES)


def parse_stage(given: object, *, path: str) -> Stage:
    """The stage of a mapping; DocumentError lists every fault by path."""
    if not isinstance(given, Mapping):
        raise DocumentError([Problem(path, given, "must be a mapping of field: value")])
    kind = given.get("stage")
    if not isinstance(kind, str) or kind not in STAGES:
        message = f"must be one of {', '.join(ORDER)}"
        raise DocumentError([Problem(f"{path}.stage", kind, message)])
    rest = {key: value for key, value in given.items() if key != "stage"}
    if "criteria" in rest:
        rest["criteria"] = _criteria(rest["criteria"], path=f"{path}.criteria")
    return build(STAGES[kind], rest, path=path)


def to_document(stage: Stage) -> dict[str, Any]:
    """The mapping, every default written out; what was left open stays open."""
    values = {info.name: getattr(stage, info.attribute) for info in describe(type(stage))}
    found = {name: _plain(value) for name, value in values.items() if value is not None}
    return {"stage": stage.kind, **found}


def deadline_s(stage: Stage) -> float:
    """Seconds from the stage's beginning until it holds and asks."""
    return stage.deadline_s if stage.deadline_s is not None else 60 + 4 * stage.planned_s


def _criteria(given: object, *, path: str) -> tuple[Criterion, ...]:
    if not isinstance(given, list | tuple):
        raise DocumentError([Problem(path, given, "must be a list of criteria")])
    found, problems = [], []
    for place, one in enumerate(given):
        try:
            found.append(Criterion.parse(one, path=f"{path}.{place}"))
        except DocumentError as error:
            problems += error.problems
    if problems:
        raise DocumentError(problems)
    return tuple(found)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [one.to_document() if isinstance(one, Criterion) else one for one in value]
    return dict(value) if isinstance(value, Mapping) else value
