"""A page names a field as its form does, with the value and its unit."""

from __future__ import annotations

import pytest

from documents.in_words import in_words
from documents.problem import Problem


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("duration_s", 90.0, "Duration (90 s): is too long"),
        ("timeouts.first_token_ms", 12_000, "Timeouts, first token (12,000 ms): is too long"),
        ("slo", None, "SLO (none): is too long"),
        ("workload.sessions", {"count": 3}, "Workload, sessions: is too long"),
        ("", "whatever", "Is too long"),
    ],
)
def test_a_fault_is_said_in_the_words_of_the_form(path: str, value: object, said: str) -> None:
    assert in_words(Problem(path, value, "is too long")) == said
