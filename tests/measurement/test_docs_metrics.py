"""docs/metrics.md names everything that the code can say, so neither moves alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from measurement.column_builder import columns_of
from measurement.histogram import Histogram
from measurement.objectives import METRICS
from measurement.outcome import Outcome, TokenSource
from measurement.quantiles import minimum_n
from measurement.sample import Sample
from measurement.summary import summarise
from measurement.validity import check
from measurement.verdict import EXIT_CODES, judge_samples
from tests.measurement.builders import answered, slo, windows_of

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
NAMED = set(re.findall(r"`([^`]+)`", PAGE))


def keys(value: Any) -> set[str]:
    """Every key of nested mappings and lists, but those that are data."""
    if isinstance(value, list):
        return set().union(*(keys(item) for item in value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(keys(item) for item in value.values()))


def missing(wanted: set[str]) -> list[str]:
    return sorted(wanted - NAMED)


def test_every_outcome_is_explained_in_its_own_row() -> None:
    assert [o for o in Outcome if f"| `{o}` |" not in PAGE] == []


def test_every_metric_of_an_objective_is_explained_in_its_own_row() -> None:
    assert [name for name in METRICS if f"| `{name}` |" not in PAGE] == []


def test_every_token_source_is_named() -> None:
    assert missing({str(source) for source in TokenSource}) == []


def test_every_time_of_a_sample_is_named() -> None:
    assert missing({name for name in Sample.__slots__ if name.endswith("_at")}) == []


def test_every_key_of_the_summary_is_named() -> None:
    found = summarise(columns_of([answered()]), slo=slo(), duration=1.0).to_json()
    assert missing(keys(found) - {"ok", "usage"}) == []


def test_every_key_of_the_verdict_is_named() -> None:
    assert missing(keys(judge_samples(columns_of([answered()]), slo()).to_json())) == []


def test_every_number_of_the_validity_is_named() -> None:
    found = check(columns_of([answered()]), duration=1.0, loop_lag=Histogram.of([0.001])).to_json()
    assert missing(keys(found["numbers"])) == []


def test_every_key_of_a_window_is_named() -> None:
    [window] = windows_of([answered()], slo())
    events, cohort = window.events.to_json(), window.cohort.to_json()
    assert missing(set(events) | set(cohort) | {"revision", "final"}) == []


@pytest.mark.parametrize("percent", [50, 90, 95, 99, 99.9])
def test_the_sample_sizes_are_those_of_the_code(percent: float) -> None:
    assert f"n ≥ {minimum_n(percent):,}" in PAGE


def test_the_exit_codes_are_those_of_the_code() -> None:
    for word, code in EXIT_CODES.items():
        row = re.search(rf"\| `{word}` \|.*\| {code} \|", PAGE)
        assert row or f"{code} {word.replace('_', ' ')}" in PAGE, word
