"""What a gateway is told (``gateway``), what it has said (``reported``), and how it spends."""

from controlplane.gateways.models.budget import GatewayBudget, GatewayCount, GatewayHeard
from controlplane.gateways.models.gateway import CanaryTerm, Gateway, GatewayLane, TenantKey
from controlplane.gateways.models.reported import (
    STEP,
    GatewayBlock,
    GatewayDecision,
    GatewayFault,
    GatewayGauge,
    GatewayPresence,
    GatewayProcess,
    GatewaySecond,
    GatewayShadow,
    GatewayStream,
    GatewayWindow,
)

__all__ = [
    "STEP",
    "CanaryTerm",
    "Gateway",
    "GatewayBlock",
    "GatewayBudget",
    "GatewayCount",
    "GatewayDecision",
    "GatewayFault",
    "GatewayGauge",
    "GatewayHeard",
    "GatewayLane",
    "GatewayPresence",
    "GatewayProcess",
    "GatewaySecond",
    "GatewayShadow",
    "GatewayStream",
    "GatewayWindow",
    "TenantKey",
]
