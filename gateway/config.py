"""The gateway's configuration as a frozen value; ``gateway.config_reader`` makes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from documents import canonical
from gateway.config_parts import (
    CanaryConfig,
    ClientLimits,
    LaneConfig,
    Listen,
    QueueRules,
    TenantConfig,
    UpstreamTimeouts,
)
from measurement.slo import Slo
from schedulers.document import Policy

API_VERSION = "headway/v1"
KIND = "GatewayConfig"


@dataclass(frozen=True)
class GatewayConfig:
    """Everything a gateway serves by. Immutable: a change is another revision."""

    gateway: str
    revision: int
    listen: Listen
    lanes: tuple[LaneConfig, ...]
    tenants: tuple[TenantConfig, ...]
    anonymous: str
    slo: Slo | None
    policies: Mapping[str, Policy]
    active: str
    queue: QueueRules
    timeouts: UpstreamTimeouts
    limits: ClientLimits
    canary: CanaryConfig | None
    shadow: str | None = None
    """Hash of a version that decides beside the serving one, and is not obeyed."""

    def to_document(self) -> dict[str, Any]:
        """The document with every default written out."""
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "gateway": self.gateway,
            "revision": self.revision,
            "listen": dataclasses.asdict(self.listen),
            "lanes": [
                {"name": lane.name, "endpoints": [dataclasses.asdict(e) for e in lane.endpoints]}
                for lane in self.lanes
            ],
            "tenants": [
                {"name": tenant.name, "tier": tenant.tier, "keys": list(tenant.keys)}
                for tenant in self.tenants
            ],
            "anonymous": self.anonymous,
            "slo": None if self.slo is None else self.slo.to_document(),
            "policies": [
                {"sha256": name, "document": policy.to_document()}
                for name, policy in self.policies.items()
            ],
            "active": self.active,
            "queue": dataclasses.asdict(self.queue),
            "timeouts": dataclasses.asdict(self.timeouts),
            "limits": dataclasses.asdict(self.limits),
            "canary": None if self.canary is None else self.canary.to_document(),
            "shadow": self.shadow,
        }

    @cached_property
    def sha256(self) -> str:
        """The hash of the canonical document: what telemetry says it served by."""
        return canonical.sha256(self.to_document())

    @property
    def policy(self) -> Policy:
        """The active version."""
        return self.policies[self.active]
