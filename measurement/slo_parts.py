"""The parts of an SLO document: whose it is, bands by prompt length, overrides by tenant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from documents.fields import parameter
from documents.problem import DocumentError, Problem


@dataclass(frozen=True, slots=True)
class Metadata:
    """Whose document it is."""

    name: str = parameter(help="how the catalogue calls it")
    owner: str = parameter(default="", help="the team that answers for it")
    description: str = parameter(default="")
    labels: Mapping[str, str] = parameter(default_factory=dict)

    def __post_init__(self) -> None:
        given: object = self.labels
        if not isinstance(given, Mapping) or not all(
            isinstance(word, str) for pair in given.items() for word in pair
        ):
            raise DocumentError([Problem("labels", given, "must be a mapping of text to text")])


@dataclass(frozen=True, slots=True)
class Band:
    """Other thresholds for prompts longer than so many tokens."""

    prompt_tokens_over: int
    maxima: Mapping[str, float]

    def to_document(self) -> dict[str, Any]:
        """The mapping that it was parsed from."""
        return {"prompt_tokens_over": self.prompt_tokens_over, **self.maxima}


@dataclass(frozen=True, slots=True)
class Override:
    """One tenant's own thresholds, bands and target; what it doesn't give stays as it is."""

    maxima: Mapping[str, float]
    target: float | None = None
    bands: tuple[Band, ...] = ()

    def to_document(self) -> dict[str, Any]:
        """The mapping that it was parsed from."""
        document: dict[str, Any] = dict(self.maxima)
        if self.target is not None:
            document["target"] = self.target
        if self.bands:
            document["bands"] = [band.to_document() for band in self.bands]
        return document


def table_of(
    own: Mapping[str, float], bands: tuple[Band, ...], override: Override
) -> tuple[Band, ...]:
    """Every threshold by prompt length, longest first; the last row holds for the rest.

    What a tenant says of a metric holds at every length, but where the tenant's own bands differ.
    """
    edges = {band.prompt_tokens_over for band in (*bands, *override.bands)} | {-1}
    rows = []
    for edge in sorted(edges, reverse=True):
        maxima = dict(own)
        for layer in (bands, (Band(-1, override.maxima),), override.bands):
            for band in sorted(layer, key=lambda b: b.prompt_tokens_over):
                if band.prompt_tokens_over <= edge:
                    maxima.update(band.maxima)
        rows.append(Band(edge, maxima))
    return tuple(rows)
