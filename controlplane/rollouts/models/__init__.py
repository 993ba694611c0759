"""A rollout with its stages (``rollout``), and what is written down beside it (``record``)."""

from controlplane.rollouts.models.record import Approval, FreezeWindow, RolloutEvent
from controlplane.rollouts.models.rollout import LIVE, Phase, Rollout, StageRun

__all__ = [
    "LIVE",
    "Approval",
    "FreezeWindow",
    "Phase",
    "Rollout",
    "RolloutEvent",
    "StageRun",
]
