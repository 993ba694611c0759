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


_MODEL = (Mode.ENFORCED, "The engine model asks the policy itself.")
_CLIENT_QUEUE = (
    Mode.ENFORCED,
    "Acts on the client's own queue, before a request is sent; the engine's queue is its own.",
)
_GATEWAY_QUEUE = (Mode.ENFORCED, "Acts on the gateway's queue, before a request goes upstream.")
_ENGINE_QUEUE = (
    Mode.RENDERED,
    "Written out where the engine has it, such as a queue cap or a scheduling policy.",
)
_INSIDE_FROM_CLIENT = (
    Mode.NOT_ENFORCED,
    "Happens inside the engine, where a client has no say; set it in the engine's configuration.",
)
_INSIDE_FROM_GATEWAY = (
    Mode.NOT_ENFORCED,
    "Happens inside the engine, where a gateway has no say; set it in the engine's configuration.",
)
_INSIDE = (Mode.RENDERED, "Written out as the engine's flags and configuration.")

TABLE: Mapping[DecisionPoint, Mapping[Host, _Cell]] = MappingProxyType(
    {
        DecisionPoint.CONCURRENCY: _everywhere(
            _MODEL,
            (Mode.ENFORCED, "The load driver's limiter holds requests back before they are sent."),
            (Mode.ENFORCED, "The gateway's limiter holds requests back before they go upstream."),
            (
                Mode.NOT_ENFORCED,
                "An engine runs what it is sent; the limit stands before it: gateway or client.",
            ),
        ),
        DecisionPoint.ADMISSION: _everywhere(_MODEL, _CLIENT_QUEUE, _GATEWAY_QUEUE, _ENGINE_QUEUE),
        DecisionPoint.ORDERING: _everywhere(_MODEL, _CLIENT_QUEUE, _GATEWAY_QUEUE, _ENGINE_QUEUE),
        DecisionPoint.BATCHING: _everywhere(
            _MODEL, _INSIDE_FROM_CLIENT, _INSIDE_FROM_GATEWAY, _INSIDE
        ),
        DecisionPoint.PREEMPTION: _everywhere(
            _MODEL, _INSIDE_FROM_CLIENT, _INSIDE_FROM_GATEWAY, _INSIDE
        ),
        DecisionPoint.RETRY: _everywhere(
            _MODEL,
            (Mode.ENFORCED, "The load driver sends again when the policy says so."),
            (
                Mode.ENFORCED,
                "Upstream attempts are the gateway's; to callers it only advertises Retry-After.",
            ),
            (Mode.NOT_ENFORCED, "An engine doesn't retry: its callers do."),
        ),
    }
)


def enforcement(point: DecisionPoint, host: Host) -> Enforcement:
    """What a host does with a decision point."""
    mode, why = TABLE[point][host]
    return Enforcement(point, host, mode, why)


def explain(policy: Policy, host: Host | str) -> tuple[Enforcement, ...]:
    """What a host does with each decision point that the policy fills, in the policy's order."""
    return tuple(enforcement(point, Host(host)) for point in policy.laws)
