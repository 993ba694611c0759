"""From what was asked to a play of a system: every fault named, the same in form and API."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.experiments.models import Experiment, Way
from documents.fields import parameter
from documents.parse import build
from documents.problem import DocumentError, Problem
from loadtest.reproduce.asked import Asked
from loadtest.reproduce.systems.base import systems
from simulator import profile as profiles

MOST_SEEDS = 30
"""Of one stored play: an hour is mostly its deadline, and the command takes more."""
DAY_HOURS = 4
"""A stored play whose scale is told may take so long."""
SEEDS_OF_A_SCALE = 2
"""A whole day takes most of an hour of CPU a seed, so two take half of that time."""
MOST_CHARACTERS = 64_000
"""Of a configuration."""


@dataclass(frozen=True, slots=True)
class Ask:
    """``seeds``: runs of everything; ``reduced``: shorter ones of the same shape."""

    system: str = parameter(help="a source system's name")
    seeds: int = parameter(default=5, minimum=1, maximum=MOST_SEEDS, help="runs of everything")
    reduced: bool = parameter(default=False, help="shorter runs of the same shape")
    served: bool = parameter(default=False, help="over HTTP, as far as a load test can enforce it")
    configuration: Mapping[str, Any] | None = parameter(
        default=None, help="the queueing source's own configuration"
    )
    profile: str | None = parameter(default=None, help="the engine that plays a configuration")
    scale: float | None = parameter(
        default=None, help="batching: play an hour of its day as so many times less; 1 to 60"
    )

    def __post_init__(self) -> None:
        known = systems.all()
        if self.system not in known:
            message = f"is no source system; one of: {', '.join(sorted(known))}"
            raise DocumentError([Problem("system", self.system, message)])
        if self.profile is not None and self.configuration is None:
            message = "goes with a configuration only"
            raise DocumentError([Problem("profile", self.profile, message)])
        if len(self.text) > MOST_CHARACTERS:
            message = f"must be at most {MOST_CHARACTERS:,} characters"
            raise DocumentError([Problem("configuration", None, message)])
        self.asked.check()
        if self.seeds > most_seeds(self.scale):
            message = (
                f"must be at most {most_seeds(self.scale)} at scale {self.scale:g}, or a stored "
                f"play's {DAY_HOURS} hours are over first; take a larger scale, or the command"
            )
            raise DocumentError([Problem("seeds", self.seeds, message)])

    @property
    def way(self) -> Way:
        """How it is played."""
        if self.configuration is not None:
            return Way.CONFIGURATION
        return Way.SERVED if self.served else Way.VIRTUAL

    @property
    def text(self) -> str:
        """The configuration as it is stored; empty without one."""
        given = self.configuration
        return "" if given is None else json.dumps(given, indent=1, ensure_ascii=False)

    @property
    def engine(self) -> str:
        """The profile that plays a configuration; empty without one."""
        return "" if self.configuration is None else self.profile or profiles.DEFAULT

    @property
    def asked(self) -> Asked:
        """The same for whoever plays it."""
        chosen = {"profile": self.engine} if self.engine else {}
        text = None if self.configuration is None else self.text
        return Asked(self.system, self.reduced, self.served, text, scale=self.scale, **chosen)

    @classmethod
    def of(cls, experiment: Experiment) -> Ask:
        """What a stored one asked for."""
        text = experiment.configuration
        return cls(
            system=experiment.system,
            seeds=experiment.seeds,
            reduced=experiment.reduced,
            served=experiment.way == Way.SERVED,
            configuration=json.loads(text) if text else None,
            profile=experiment.profile or None,
            scale=experiment.scale,
        )


def most_seeds(scale: float | None) -> int:
    """Of a stored play at that scale."""
    return MOST_SEEDS if scale is None else min(MOST_SEEDS, math.floor(SEEDS_OF_A_SCALE * scale))


def parse(given: object) -> Ask:
    """An API body; DocumentError names every fault."""
    if not isinstance(given, Mapping):
        raise DocumentError([Problem("", given, "must be an object of field: value")])
    return build(Ask, dict(given))
