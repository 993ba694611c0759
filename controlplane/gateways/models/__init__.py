"""What a gateway is told (``gateway``), and what it has said (``reported``)."""

from controlplane.gateways.models.gateway import CanaryTerm, Gateway, GatewayLane, TenantKey
from controlplane.gateways.models.reported import (
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
    "CanaryTerm",
    "Gateway",
    "GatewayBlock",
    "GatewayDecision",
    "GatewayFault",
    "GatewayGauge",
    "GatewayLane",
    "GatewayPresence",
    "GatewayProcess",
    "GatewaySecond",
    "GatewayShadow",
    "GatewayStream",
    "GatewayWindow",
    "TenantKey",
]
