"""Prometheus' text, as it is specified and as it is found."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.prometheus import Sample, names, read
from tests.engines.sayings import captured


@pytest.mark.parametrize(
    ("line", "labels", "value"),
    [
        ("a 1", {}, 1.0),
        ("a 1.5e+09", {}, 1.5e9),
        ("a{} 2", {}, 2.0),
        ('a{x="1"} 3', {"x": "1"}, 3.0),
        ('a{x="1",y="2",} 4', {"x": "1", "y": "2"}, 4.0),
        ('a { x = "1" , y="2" } 5', {"x": "1", "y": "2"}, 5.0),
        (r'a{x="a\"b\\c\nd"} 6', {"x": 'a"b\\c\nd'}, 6.0),
        ('a{x="} 9,y="} 7', {"x": "} 9,y="}, 7.0),
        ('a{x="é"} 8 1795953600000', {"x": "é"}, 8.0),
        ('a 9 # {trace_id="x"} 1', {}, 9.0),
        ("  a\t10  ", {}, 10.0),
        ("a +Inf", {}, math.inf),
        ("a -Inf", {}, -math.inf),
    ],
)
def test_a_line(line: str, labels: dict[str, str], value: float) -> None:
    assert read(line, {"a"}) == {"a": [Sample(labels, value)]}


def test_nan_is_a_value() -> None:
    assert math.isnan(read("a NaN", {"a"})["a"][0].value)


@pytest.mark.parametrize(
    "line",
    ["", "# HELP a b", "a", "a{", 'a{x="1" 2', "a{x=1} 2", "a b", "a{} ", "1a 2", "{} 3", "<html>"],
)
def test_what_can_not_be_read_is_skipped(line: str) -> None:
    assert read(f"{line}\na 1", {"a"})["a"][-1] == Sample({}, 1.0)
    assert len(read(f"{line}\na 1", {"a"})["a"]) == 1


def test_only_whole_names_are_taken() -> None:
    assert read("ab 1\na_total 2\na:b 3", {"a"}) == {}


def test_a_real_scrape_holds_its_names() -> None:
    text = captured("vllm-metrics.txt").decode()
    assert {"vllm:num_requests_running", "vllm:kv_cache_usage_perc"} <= names(text)
    assert not any(name.startswith("#") for name in names(text))


LABELS = st.dictionaries(
    st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True),
    st.text(
        st.characters(codec="utf-8", exclude_characters="\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
    ),
    max_size=4,
)


@given(LABELS, st.floats(allow_nan=False))
def test_what_is_written_is_read(labels: dict[str, str], value: float) -> None:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')

    inside = ",".join(f'{key}="{escaped(text)}"' for key, text in labels.items())
    assert read(f"a{{{inside}}} {value!r}", {"a"}) == {"a": [Sample(labels, value)]}


@given(st.text())
def test_no_text_at_all_makes_it_fail(text: str) -> None:
    read(text, {"a"})
    names(text)
