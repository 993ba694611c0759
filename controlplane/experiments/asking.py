"""From what was asked to a play of a system: every fault named, the same in form and API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from documents.fields import parameter
from documents.parse import build
from documents.problem import DocumentError, Problem
from loadtest.reproduce.document import command_of
from loadtest.reproduce.systems.base import systems

MOST_SEEDS = 30
"""Of one stored play: an hour is its deadline, and the command takes more."""


@dataclass(frozen=True, slots=True)
class Ask:
    """``seeds``: runs of everything; ``reduced``: shorter ones of the same shape."""

    system: str = parameter(help="a source system's name")
    seeds: int = parameter(default=5, minimum=1, maximum=MOST_SEEDS, help="runs of everything")
    reduced: bool = parameter(default=False, help="shorter runs of the same shape")

    def __post_init__(self) -> None:
        known = systems.all()
        if self.system not in known:
            message = f"is no source system; one of: {', '.join(sorted(known))}"
            raise DocumentError([Problem("system", self.system, message)])

    @property
    def command(self) -> str:
        """What plays it anywhere."""
        return command_of(self.system, self.seeds, reduced=self.reduced)


def parse(given: object) -> Ask:
    """An API body; DocumentError names every fault."""
    if not isinstance(given, Mapping):
        raise DocumentError([Problem("", given, "must be an object of field: value")])
    return build(Ask, dict(given))
