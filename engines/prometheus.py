"""Prometheus' text format, read for a few names out of many and never failing on the rest.

A scrape of vLLM is 50 kB, nearly all of it histogram buckets: lines of names that were not asked
for cost one look-up. A line that can't be read is skipped, as one bad metric is no reason to lose
the others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|(?=\}))')
_ESCAPE = re.compile(r"\\(.)")
_UNESCAPED = {"n": "\n"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: its labels and its value, which may be NaN or infinite."""

    labels: Mapping[str, str]
    value: float


def read(text: str, names: Collection[str]) -> dict[str, list[Sample]]:
    """The samples of these names; a name that isn't there has no entry."""
    wanted = frozenset(names)
    found: dict[str, list[Sample]] = {}
    for line in text.splitlines():
        name = _name(line)
        if name not in wanted:
            continue
        sample = _sample(line.strip()[len(name) :])
        if sample is not None:
            found.setdefault(name, []).append(sample)
    return found


def names(text: str) -> frozenset[str]:
    """Every metric name in a scrape."""
    return frozenset(name for line in text.splitlines() if (name := _name(line)))


def _name(line: str) -> str:
    """The metric's name at the start of a line; "" for a comment, a blank line or no metric."""
    match = _NAME.match(line.lstrip())
    return match[0] if match else ""


def _sample(rest: str) -> Sample | None:
    """What follows the name: labels, value, and perhaps a time stamp or an exemplar."""
    labels: dict[str, str] = {}
    rest = rest.lstrip()
    if rest.startswith("{"):
        at = 1
        while match := _LABEL.match(rest, at):
            labels[match[1]] = _ESCAPE.sub(lambda m: _UNESCAPED.get(m[1], m[1]), match[2])
            at = match.end()
        if rest[at : at + 1] != "}":
            return None
        rest = rest[at + 1 :]
    words = rest.split(maxsplit=1)
    try:
        return Sample(labels, float(words[0]))
    except (IndexError, ValueError):
        return None
