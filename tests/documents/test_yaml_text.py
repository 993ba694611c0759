"""YAML read strictly: what would be guessed at, or blow up, is refused with its place."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.problem import DocumentError
from documents.yaml_text import MAX_BYTES, parse_yaml, to_yaml

PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert parse_yaml(to_yaml(value)) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: 1\nb: 2\na: 3", r"a: stands twice .*line 3", id="double key"),
        pytest.param('a: 1\n"a": 2', "stands twice", id="double key, quoted"),
        pytest.param("s:\n  - {b: 1, b: 2}", "stands twice", id="double key, deep"),
        pytest.param("a: &x [1]\nb: *x", r"aliases .*line 2", id="alias"),
        pytest.param("[" * 200, "levels deep", id="deep"),
        pytest.param("a: [1", r"line 1, column \d+", id="broken"),
        pytest.param("a: 2024-99-99", "is no YAML", id="impossible date"),
        pytest.param("a: " + "1" * 5000, "is no YAML", id="endless number"),
        pytest.param("a: \x00", "is no YAML", id="control character"),
        pytest.param('a: ["\\ud800"]', "a.0: holds a character that is no text", id="surrogate"),
        pytest.param("? [a]\n: 1", "unhashable", id="key that is no name"),
        pytest.param("a: !!python/name:os.system x", "constructor", id="code"),
        pytest.param("#" * (MAX_BYTES + 1), f"must not exceed {MAX_BYTES} bytes", id="size"),
        pytest.param("é" * (MAX_BYTES // 2 + 1), "must not exceed", id="size in bytes"),
    ],
)
def test_a_text_that_cannot_be_trusted_is_refused(text: str, said: str) -> None:
    with pytest.raises(DocumentError, match=said):
        parse_yaml(text)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_and_never_anything_else(text: str) -> None:
    with contextlib.suppress(DocumentError):
        parse_yaml(text)


@given(
    st.dictionaries(
        st.text(),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**63), 2**63)
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
            ),
            max_leaves=8,
        ),
        max_size=4,
    ),
    st.sampled_from([None, 2, "\t"]),
    st.booleans(),
)
def test_json_is_read_as_json_has_it(value: Any, indent: Any, ascii_only: bool) -> None:
    """Tabs, numbers with an exponent and pairs of surrogates are JSON, and no YAML to PyYAML."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert parse_yaml(text) == value


def test_a_number_with_an_exponent_is_a_number_in_json() -> None:
    assert parse_yaml('\ufeff{"rate":\t2e1}') == {"rate": 20.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "stands twice"),
        ('{"a": ' + 30 * "[" + 30 * "]" + "}", "nested more than"),
        ('{"a": "\\ud800"}', "no text"),
    ],
)
def test_what_yaml_refuses_is_refused_in_json_too(text: str, said: str) -> None:
    with pytest.raises(DocumentError, match=said):
        parse_yaml(text)
