"""What a report format is: a conclusion as text."""

from __future__ import annotations

from typing import ClassVar, Protocol, TypeVar

from documents.registry import Registry
from loadtest.conclusion import Conclusion


class Report(Protocol):
    """A class without state. ``filename`` None: for the terminal, not for a run's directory."""

    name: ClassVar[str]
    summary: ClassVar[str]
    filename: ClassVar[str | None]

    def render(self, conclusion: Conclusion) -> str: ...


formats: Registry[Report] = Registry("loadtest.reports", "report format")

R = TypeVar("R", bound=type[Report])


def report(cls: R) -> R:
    """Register a report format."""
    formats.add(cls.name, cls)
    return cls
