"""What is known of a run when it starts, kept beside its samples for whoever reads them later."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from loadtest.recorder import FACTS, SCENARIO
from loadtest.scenario import Scenario
from loadtest.schedule import Schedule, Slice


@dataclass(frozen=True, slots=True)
class Facts:
    """``scheduled`` is what this slice was to offer; None for a closed loop."""

    at_unix: float
    version: str
    scheduled: int | None
    prompt_salt: str
    slice_number: int = 0
    slice_of: int = 1
    workers: int = 1
    """Processes that shared this slice among them."""
    machines: int = 1
    """Machines that these processes were on."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """What stood in for the engine; empty where a real one answered."""

    @property
    def part(self) -> Slice:
        """Which slice of the schedule this process drove."""
        return Slice(self.slice_number, self.slice_of)

    @property
    def started_at(self) -> str:
        """The schedule's start in UTC, as ISO 8601."""
        return datetime.fromtimestamp(self.at_unix, UTC).isoformat(timespec="milliseconds")

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """What ``to_json`` gave."""
        return cls(**given)


def schedule_of(scenario: Scenario, facts: Facts) -> Schedule:
    """The very schedule of the run."""
    salt, part = facts.prompt_salt, facts.part
    return make_schedule(scenario, salt=salt, part=part, sessions=bool(facts.model))


def make_schedule(
    scenario: Scenario, *, salt: str, part: Slice, sessions: bool = False
) -> Schedule:
    """The schedule of one slice of a scenario; ``sessions`` where whoever asks plays them."""
    return Schedule(
        scenario.arrivals,
        scenario.workload,
        duration=scenario.duration_s,
        seed=scenario.seed,
        salt=salt,
        part=part,
        sessions=sessions,
    )


def write(out: Path, scenario: Scenario, facts: Facts) -> None:
    """Before the first request: what a report can be rebuilt from."""
    (out / SCENARIO).write_text(_json(scenario.to_document()), "utf-8")
    (out / FACTS).write_text(_json(facts.to_json()), "utf-8")


def read(out: Path) -> tuple[Scenario, Facts]:
    """What ``write`` wrote; OSError or ValueError where nothing of the kind stands."""
    scenario = Scenario.parse(json.loads((out / SCENARIO).read_text("utf-8")))
    return scenario, Facts.from_json(json.loads((out / FACTS).read_text("utf-8")))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
