"""What a stored play is of: a system in virtual time, over HTTP, or a configuration of its source.

Each has a name of its own, as ``headway reproduce --out`` writes it, and says how often it goes
through the seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from documents.problem import DocumentError, Problem
from loadtest.reproduce.configuration import playing
from loadtest.reproduce.configuration.contradictions import remarks
from loadtest.reproduce.configuration.conversion import convert
from loadtest.reproduce.configuration.sections import Configuration, read
from loadtest.reproduce.document import document_of
from loadtest.reproduce.plan import Plan, check_scale
from loadtest.reproduce.served import playing as over_http
from loadtest.reproduce.systems.base import System, systems
from loadtest.reproduce.table import Reproduction
from simulator import profile as profiles

CONFIGURATION = "configuration.json"
"""What a stored play calls the file."""
CONFIGURED = "queueing"
"""The only system whose source has a configuration of its own."""


@dataclass(frozen=True, slots=True)
class Asked:
    """``configuration``: a JSON text, played on the engine model's ``profile``."""

    system: str
    reduced: bool = False
    served: bool = False
    configuration: str | None = None
    profile: str = profiles.DEFAULT
    scale: float | None = None
    """As of a plan."""

    @property
    def name(self) -> str:
        """What its document and its file are called."""
        way = "-served" if self.served else "-configuration" if self.configuration else ""
        return f"{self.system}{way}"

    @property
    def passes(self) -> int:
        """How often it goes through the seeds."""
        system = self.of()
        if self.configuration is not None:
            return len(playing.WAYS)
        return 1 if self.served else system.passes[self.reduced]

    @property
    def about(self) -> tuple[str, str]:
        """What is played, and which law is which."""
        system = self.of()
        if self.configuration is not None:
            what = f"a configuration of the source's own on the engine model (`{self.profile}`)"
            return what, playing.LAWS
        if self.served:
            return system.served.summary, system.served.laws
        return system.summary, system.laws

    def command(self, seeds: int) -> str:
        """What plays it anywhere."""
        words = ["headway reproduce", self.system]
        words += ["--served"] if self.served else []
        if self.configuration is not None:
            words += [f"--config {CONFIGURATION}", f"--profile {self.profile}"]
        words += [] if self.scale is None else [f"--scale {self.scale:g}"]
        words += [f"--seeds {seeds}", *(["--reduced"] if self.reduced else []), "--out results"]
        return " ".join(words)

    def of(self) -> System:
        """The system; DocumentError where there is none of that name."""
        return systems.get(self.system, path="system")()

    def check(self) -> None:
        """DocumentError with what can't be played, by field."""
        system = self.of()
        if self.served and self.configuration is not None:
            message = "is played in virtual time; leave out one of the two"
            raise DocumentError([Problem("served", True, message)])  # noqa: FBT003
        if self.served:
            system.served.check(self.system)
        if self.configuration is not None:
            self.configured()
        check_scale(
            self.scale,
            has_day=system.has_day,
            reduced=self.reduced,
            plays_day=not self.served and self.configuration is None,
        )

    def configured(self) -> Configuration:
        """What the configuration says; DocumentError with each fault, by its own path."""
        if self.system != CONFIGURED:
            message = f"only {CONFIGURED} has a configuration of its own that is read"
            raise DocumentError([Problem("configuration", self.system, message)])
        if self.profile not in profiles.names():
            known = ", ".join(profiles.names())
            message = f"is no profile that is shipped; one of: {known}"
            raise DocumentError([Problem("profile", self.profile, message)])
        try:
            return read(self.configuration or "")
        except DocumentError as error:
            raise DocumentError(
                Problem(".".join(filter(None, ("configuration", one.path))), one.value, one.message)
                for one in error.problems
            ) from None

    def play(self, plan: Plan) -> Reproduction:
        """In virtual time, to its end."""
        if self.configuration is None:
            return self.of().play(plan)
        given = self.configured()
        return playing.play(given, convert(given), profiles.load(self.profile), plan)

    async def play_served(self, plan: Plan) -> Reproduction:
        """Over HTTP, in real time."""
        return await over_http.play(self.of().served, plan)

    def document(self, plan: Plan, result: Reproduction) -> dict[str, Any]:
        """What is stored: as ``headway reproduce --out`` writes it."""
        return document_of(self.name, plan, result, **self.more())

    def more(self) -> Mapping[str, Any]:
        """What a configuration's document has beside the table: what is said of it."""
        if self.configuration is None:
            return {}
        said = [one.to_json() for one in remarks(self.configured())]
        return {"profile": self.profile, "remarks": said}
