"""What a source system is: an experiment that can be played again with any seeds."""

from __future__ import annotations

from typing import ClassVar, Protocol, TypeVar

from documents.registry import Registry
from loadtest.reproduce.plan import Plan
from loadtest.reproduce.served.experiment import Experiment
from loadtest.reproduce.table import Reproduction


class System(Protocol):
    """A class without state. ``summary`` says what is played, ``laws`` which law is which.

    ``served``: what of it a load test can play over HTTP, or why none can. ``passes``: how often
    it goes through the seeds, full and reduced. ``has_day``: a plan's ``scale`` means something.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    laws: ClassVar[str]
    served: ClassVar[Experiment]
    passes: ClassVar[tuple[int, int]]
    has_day: ClassVar[bool]

    def play(self, plan: Plan) -> Reproduction:
        """The system's own experiment under the laws that are compared."""
        ...


systems: Registry[System] = Registry("loadtest.reproduce.systems", "source system")

S = TypeVar("S", bound=type[System])


def system(cls: S) -> S:
    """Register a system."""
    systems.add(cls.name, cls)
    return cls
