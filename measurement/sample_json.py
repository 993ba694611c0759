"""A sample as one line of JSON: what is at its default is left out, floats come back exactly."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from measurement.outcome import Outcome, TokenSource
from measurement.sample import Attempt, Sample

_FIELDS = dataclasses.fields(Sample)


def to_dict(sample: Sample) -> dict[str, Any]:
    """Plain JSON values by field name."""
    found = {}
    for field in _FIELDS:
        value = getattr(sample, field.name)
        if value != field.default:
            found[field.name] = list(value) if isinstance(value, tuple) else value
    if sample.attempts:
        found["attempts"] = [_attempt(attempt) for attempt in sample.attempts]
    return found


def _attempt(attempt: Attempt) -> dict[str, Any]:
    given = dataclasses.asdict(attempt)
    return {name: value for name, value in given.items() if value is not None}


def from_dict(given: Mapping[str, Any]) -> Sample:
    """What ``to_dict`` wrote."""
    values = dict(given)
    values["outcome"] = Outcome(values["outcome"])
    if "token_source" in values:
        values["token_source"] = TokenSource(values["token_source"])
    if "attempts" in values:
        values["attempts"] = tuple(
            Attempt(**{**attempt, "outcome": Outcome(attempt["outcome"])})
            for attempt in values["attempts"]
        )
    for name in ("gaps", "gap_tokens"):
        if name in values:
            values[name] = tuple(values[name])
    return Sample(**values)


def to_line(sample: Sample) -> str:
    """One line, without its end."""
    return json.dumps(to_dict(sample), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def from_line(line: str | bytes) -> Sample:
    """The sample of one line."""
    return from_dict(json.loads(line))
