"""A fault as a page says it: the field in the words of its form, the value with its unit.

A command and the API name the field as it is written in the document; a page's reader has seen
its label alone.
"""

from __future__ import annotations

from documents.problem import Problem

ACRONYMS = frozenset({"url", "api", "slo", "kv", "ttft", "tpot", "itl", "e2e", "id"})
UNITS = {"_ms": "ms", "_s": "s"}
LONGEST = 60
"""Characters of a value that a sentence holds."""


def label(name: str, *, unit: bool = True) -> str:
    """``max_duration_s`` is ``Max duration``; without a ``unit`` its end is a word like others."""
    for suffix in UNITS if unit else ():
        name = name.removesuffix(suffix) if len(name) > len(suffix) else name
    first, *rest = (word.upper() if word in ACRONYMS else word for word in name.split("_"))
    return " ".join([first[:1].upper() + first[1:], *rest])


def field_in_words(path: str) -> str:
    """``arrivals.rate`` is ``Arrivals, rate``."""
    first, *rest = (label(part) for part in path.split(".") if part)
    return ", ".join([first, *(part if part.isupper() else part.lower() for part in rest)])


def value_in_words(path: str, value: object) -> str:
    """``60 s`` of ``duration_s``; empty of what is too long or has parts."""
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        unit = next((unit for suffix, unit in UNITS.items() if path.endswith(suffix)), "")
        return f"{value:,.10g} {unit}".rstrip()
    return value if isinstance(value, str) and len(value) <= LONGEST else ""


def in_words(problem: Problem) -> str:
    """``Duration (10 s): differs from A's 60 s``; of the whole document, the message alone."""
    said = problem.message[:1].upper() + problem.message[1:]
    if not problem.path:
        return said
    value = value_in_words(problem.path, problem.value)
    named = field_in_words(problem.path)
    return f"{named} ({value}): {problem.message}" if value else f"{named}: {problem.message}"
