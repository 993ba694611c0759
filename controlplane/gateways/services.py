"""What runs on a gateway: which version serves, which is tried, and how one goes back.

Each verb raises the gateway's revision by compare-and-set and is audited. A verb with ``by`` is for
the system itself: a rollout that an approved plan lets act.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.catalogue.models import PolicyVersion
from controlplane.gateways.changing import change
from controlplane.gateways.models import CanaryTerm, Gateway
from controlplane.teams.rights import Actor, Right, require
from documents.parse import build
from documents.problem import DocumentError, Problem
from gateway.config_parts import CanaryConfig
from gateway.criteria import CriterionConfig
from measurement.comparison.criterion import Criterion


@dataclass(frozen=True, slots=True)
class Canary:
    """A comparison on live traffic: block k is ``[starts_at + k·slot_s, + slot_s)``."""

    candidate: PolicyVersion
    lanes: tuple[str, str]
    seed: int
    starts_at: float
    """Unix seconds."""
    blocks: int
    slot_s: float
    washout_s: float
    weight: float
    criteria: Sequence[Criterion] = ()
    """The plan's: the gateway counts each block's requests by them."""

    def config(self) -> CanaryConfig:
        """As the gateway's configuration has it; DocumentError for what it would refuse."""
        return build(
            CanaryConfig,
            {
                "candidate": self.candidate.sha256,
                "lanes": list(self.lanes),
                "seed": self.seed,
                "starts_at": self.starts_at,
                "blocks": self.blocks,
                "slot_s": self.slot_s,
                "washout_s": self.washout_s,
                "weight": self.weight,
                "criteria": [
                    CriterionConfig(one.name, one.kind, one.metric, one.threshold).to_document()
                    for one in self.criteria
                ],
            },
            path="canary",
        )


def serve(*, actor: Actor, gateway: Gateway, version: PolicyVersion, reason: str = "") -> Gateway:
    """Let this version serve from the next request on; refused while a canary is under way."""
    require(actor, Right.CATALOGUE_WRITE, to="serve_version", kind="gateway", name=gateway.name)
    _same_team(gateway, version)

    def apply(row: Gateway) -> None:
        if row.canary is not None:
            message = "is held against a canary now; end that first"
            raise DocumentError([Problem("policy", row.active_version.line.name, message)])
        _activate(row, version)

    return change(gateway, apply, by=actor.name, verb="serve_version", reason=reason)


def set_active(*, gateway: Gateway, version: PolicyVersion, by: str, reason: str) -> Gateway:
    """The same for a finished rollout; a canary or a shadow of this very version ends with it."""
    _same_team(gateway, version)
    return change(
        gateway, lambda row: _activate(row, version), by=by, verb="serve_version", reason=reason
    )


def set_shadow(
    *, gateway: Gateway, version_or_none: PolicyVersion | None, by: str, reason: str
) -> Gateway:
    """Let a version decide beside the one that serves, obeyed by nobody; None ends it."""

    def apply(row: Gateway) -> None:
        row.shadow_version = version_or_none

    if version_or_none is not None:
        _same_team(gateway, version_or_none)
    return change(gateway, apply, by=by, verb="set_shadow", reason=reason)


def set_canary(*, gateway: Gateway, canary: Canary | None, by: str, reason: str) -> Gateway:
    """Compare a version with the active one on two lanes; None ends it."""
    given = None if canary is None else canary.config()
    if canary is not None:
        _same_team(gateway, canary.candidate)

    def apply(row: Gateway) -> None:
        row.canary = None if given is None else given.to_document()
        row.canary_version = None if canary is None else canary.candidate
        if given is not None:
            values = {"document": row.canary, "revision": row.revision + 1}
            CanaryTerm.objects.update_or_create(gateway=row, sha256=given.sha256, defaults=values)

    return change(gateway, apply, by=by, verb="set_canary", reason=reason)


def roll_back(*, gateway: Gateway, by: str, reason: str) -> Gateway:
    """End canary and shadow in one transaction: the active version serves everywhere."""

    def apply(row: Gateway) -> None:
        row.canary = row.canary_version = row.shadow_version = None

    return change(gateway, apply, by=by, verb="roll_back", reason=reason)


def _activate(row: Gateway, version: PolicyVersion) -> None:
    row.active_version = version
    if row.canary_version == version:
        row.canary = row.canary_version = None
    if row.shadow_version == version:
        row.shadow_version = None


def _same_team(gateway: Gateway, version: PolicyVersion) -> None:
    if version.line.team_id != gateway.team_id:
        raise DocumentError([Problem("policy", version.line.name, "is of another team")])
