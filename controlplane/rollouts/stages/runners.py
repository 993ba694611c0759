"""The runner of each kind of stage."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.rollouts.stages.base import Runner
from controlplane.rollouts.stages.canary import CanaryRunner
from controlplane.rollouts.stages.full import FullRunner
from controlplane.rollouts.stages.replay import ReplayRunner
from controlplane.rollouts.stages.shadow import ShadowRunner

RUNNERS: Mapping[str, Runner] = MappingProxyType(
    {
        "model": ReplayRunner(),
        "load_test": ReplayRunner(),
        "shadow": ShadowRunner(),
        "canary": CanaryRunner(),
        "full": FullRunner(),
    }
)
