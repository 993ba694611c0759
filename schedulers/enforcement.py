"""Who enforces what: which decision points act where a policy runs, and why the others don't."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from schedulers.decision import DecisionPoint
from schedulers.document import Policy


class Host(StrEnum):
    """The four places where a policy runs."""

    ENGINE_MODEL = "engine_model"
    LOAD_TEST = "load_test"
    GATEWAY = "gateway"
    REAL_ENGINE = "real_engine"


class Mode(StrEnum):
    """How a host takes a decision point."""

    ENFORCED = "enforced"
    RENDERED = "rendered"
    """Written out as the engine's own flags and configuration, for the engine to enforce."""
    NOT_ENFORCED = "not_enforced"


@dataclass(frozen=True, slots=True)
class Enforcement:
    """What one host does with one decision point: how far, and why no further."""

    point: DecisionPoint
    host: Host
    mode: Mode
    why: str

    @property
    def acts(self) -> bool:
        """Whether a difference at this point can show on this host."""
        return self.mode is not Mode.NOT_ENFORCED


_Cell = tuple[Mode, str]


def _everywhere(
    model: _Cell, load_test: _Cell, gateway: _Cell, engine: _Cell
) -> Mapping[Host, _Cell]:
    return MappingProxyType(
        {
            Host.ENGINE_MODEL: model,
            Host.LOAD_TEST: load_test,
            Host.GATEWAY: gateway,
            Host.REAL_ENGINE: engine,
        }
    )


_NO = Mode.NOT_ENFORCED
_ENGINE_QUEUE: _Cell = (
    Mode.RENDERED,
    "`headway policy render` writes what the engine can be told, and what it can't.",
)
_INSIDE_FROM_CLIENT: _Cell = (
    _NO,
    "Happens inside the engine, where a client has no say; set it in the engine's configuration.",
)
_INSIDE_FROM_GATEWAY: _Cell = (
    _NO,
    "Happens inside the engine, where a gateway has no say; set it in the engine's configuration.",
)

TABLE: Mapping[DecisionPoint, Mapping[Host, _Cell]] = MappingProxyType(
    {
        DecisionPoint.CONCURRENCY: _everywhere(
            (Mode.ENFORCED, "A simulation holds requests back before they reach the model."),
            (Mode.ENFORCED, "The load driver's limiter holds requests back before they are sent."),
            (Mode.ENFORCED, "The gateway's limiter holds requests back before they go upstream."),
            (
                Mode.NOT_ENFORCED,
                "An engine runs what it is sent; the limit stands before it: gateway or client.",
            ),
        ),
        DecisionPoint.ADMISSION: _everywhere(
            (Mode.ENFORCED, "A simulation's requests wait before the model until they are taken."),
            (Mode.ENFORCED, "A due request waits in the client's queue until the law takes it."),
            (Mode.ENFORCED, "A live request waits in its lane's queue until the law takes it."),
            _ENGINE_QUEUE,
        ),
        DecisionPoint.ORDERING: _everywhere(
            (Mode.ENFORCED, "It ranks those that wait before the model, and in its own queue."),
            (Mode.ENFORCED, "It ranks those that wait in the client's queue."),
            (Mode.ENFORCED, "It ranks those that wait in the lane's queue."),
            _ENGINE_QUEUE,
        ),
        DecisionPoint.BATCHING: _everywhere(
            (Mode.ENFORCED, "A simulation asks before each step in which a prompt could go on."),
            _INSIDE_FROM_CLIENT,
            _INSIDE_FROM_GATEWAY,
            _ENGINE_QUEUE,
        ),
        DecisionPoint.PREEMPTION: _everywhere(
            (Mode.ENFORCED, "A simulation asks who gives way when the model's KV cache is full."),
            _INSIDE_FROM_CLIENT,
            _INSIDE_FROM_GATEWAY,
            _ENGINE_QUEUE,
        ),
        DecisionPoint.RETRY: _everywhere(
            (Mode.ENFORCED, "A simulation sends again what the model refused, as it says."),
            (Mode.ENFORCED, "The load driver sends again what the engine refused, as it says."),
            (Mode.ENFORCED, "The gateway asks an engine again, before a caller has seen a byte."),
            (_NO, "An engine doesn't retry: its callers do."),
        ),
    }
)


def enforcement(point: DecisionPoint, host: Host) -> Enforcement:
    """What a host does with a decision point."""
    mode, why = TABLE[point][host]
    return Enforcement(point, host, mode, why)


def enforced(host: Host) -> tuple[DecisionPoint, ...]:
    """The decision points that a host itself holds requests to."""
    return tuple(p for p in DecisionPoint if TABLE[p][host][0] is Mode.ENFORCED)


def explain(policy: Policy, host: Host | str) -> tuple[Enforcement, ...]:
    """What a host does with each decision point that the policy fills, in the policy's order."""
    return tuple(enforcement(point, Host(host)) for point in policy.laws)
