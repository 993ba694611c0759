"""What a renderer is: a policy in, flags and configuration out, and all that could not be said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

from documents.registry import Registry
from schedulers.decision import DecisionPoint
from schedulers.document import Policy, parameters
from schedulers.law import Law


@dataclass(frozen=True, slots=True)
class Part:
    """What one law becomes. ``flags`` and ``config`` hold values by the engine's own names.

    ``said`` are the law's parameters that these express; ``but`` tells why others are not,
    ``rest`` why all that remain aren't. ``note`` is what a host must do for it to work.
    """

    flags: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    but: Mapping[str, str] = field(default_factory=dict)
    rest: str = ""
    note: str = ""
    native: bool = False
    """The engine does so without being told."""


@dataclass(frozen=True, slots=True)
class Unsaid:
    """One thing of the policy that the engine can't be told."""

    path: str
    value: Any
    why: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """``flags`` for the command line, ``config`` for a file where the engine reads one."""

    engine: str
    flags: tuple[tuple[str, Any], ...]
    config: Mapping[str, Any]
    unsaid: tuple[Unsaid, ...]
    notes: tuple[str, ...]
    sources: tuple[str, ...]


Teller = Callable[[Any], Part]
"""Makes a Part of a law; what it is given is the law of its own class."""


class Renderer(Protocol):
    """One engine. ``tellers`` are by (decision point, law's name); all else it can't be told."""

    name: ClassVar[str]
    summary: ClassVar[str]
    sources: ClassVar[tuple[str, ...]]
    """Pages that the flags were read from."""

    def tellers(self) -> Mapping[tuple[str, str], Teller]:
        """What it can be told."""
        ...


renderers: Registry[Renderer] = Registry("engines.rendering", "engine to render for")

C = TypeVar("C", bound=type[Renderer])

BEFORE = "Stands before the engine: gateway or client hold traffic to it."
NO_RULE = "The engine has no such rule."


def renderer(cls: C) -> C:
    """Register one."""
    renderers.add(cls.name, cls)
    return cls


def render(policy: Policy, engine: object, *, path: str = "engine") -> Rendered:
    """The policy as that engine's configuration; DocumentError for an unknown engine."""
    it = renderers.get(engine, path=path)()
    tellers = it.tellers()
    flags: dict[str, Any] = {}
    config: dict[str, Any] = {}
    unsaid: list[Unsaid] = []
    notes: list[str] = []
    for point, law in policy.laws.items():
        part = _part(point, law, tellers)
        clash = next(
            (name for name, value in part.flags.items() if flags.get(name, value) != value), ""
        )
        if clash:
            part = Part(rest=f"Asks for another {clash} than a law before it: {flags[clash]}.")
        flags |= part.flags
        config = _merged(config, part.config)
        unsaid.extend(_unsaid(point, law, part))
        if part.note:
            notes.append(part.note)
    return Rendered(it.name, tuple(flags.items()), config, tuple(unsaid), tuple(notes), it.sources)


def _part(point: DecisionPoint, law: Law, tellers: Mapping[tuple[str, str], Teller]) -> Part:
    teller = tellers.get((str(point), law.name))
    if teller is not None:
        return teller(law)
    before = point in (DecisionPoint.CONCURRENCY, DecisionPoint.ADMISSION, DecisionPoint.RETRY)
    return Part(rest=BEFORE if before else NO_RULE)


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two configurations, section by section."""
    found = dict(one)
    for key, value in other.items():
        both = isinstance(value, Mapping) and isinstance(found.get(key), Mapping)
        found[key] = _merged(found[key], value) if both else value
    return found


def _unsaid(point: DecisionPoint, law: Law, part: Part) -> Iterator[Unsaid]:
    """Every parameter that is not expressed, and a law none of whose rule is."""
    values = parameters(law)
    if not (part.said or part.flags or part.config or part.native):
        yield Unsaid(f"{point}.law", law.name, part.rest or NO_RULE)
        return
    for name, value in values.items():
        if name not in part.said:
            yield Unsaid(f"{point}.{name}", value, part.but.get(name, part.rest or NO_RULE))
