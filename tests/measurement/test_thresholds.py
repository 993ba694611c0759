"""Thresholds: what can be written, and that it reads back as it was meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.problem import DocumentError
from measurement.thresholds import KNOWN, Kind, Threshold, parse_all


@st.composite
def thresholds(draw: st.DrawFn) -> Threshold:
    name = draw(st.sampled_from(sorted(KNOWN)))
    known = KNOWN[name]
    share = st.floats(0.00001, 0.99999)
    limit = draw(share if known.kind is Kind.SHARE else st.floats(0, 1e12))
    percent = draw(st.floats(0.001, 99.999)) if known.kind is Kind.LATENCY else None
    return Threshold(name, draw(st.sampled_from(known.operators)), limit, percent)


@given(thresholds())
def test_a_threshold_reads_back_as_itself(threshold: Threshold) -> None:
    assert Threshold.parse(str(threshold)) == threshold


@pytest.mark.parametrize(
    "text",
    ["ttft_ms: p(95)<800", "ttft_ms:p(95)<800", " ttft_ms : p( 95 ) < 800 ", "ttft_ms p(95)<800.0"],
)
def test_spaces_and_the_colon_don_t_matter(text: str) -> None:
    assert Threshold.parse(text) == Threshold("ttft_ms", "<", 800.0, 95.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tfft_ms: p(95)<800", "known: ttft_ms, ttfat_ms"),
        ("ttft_ms: p(95)!=800", "ttft_ms takes < or <="),
        ("attainment<0.5", "attainment takes > or >="),
        ("ttft_ms<800", "must be a percentile"),
        ("ttft_ms: avg<800", "must be a percentile"),
        ("ttft_ms: p(100)<800", "must be a percentile"),
        ("ttft_ms: p(95)<800ms", "without its unit (ms)"),
        ("errors<=0", "no number of requests shows it to be 0 or 1"),
        ("errors<=2", "is a share"),
        ("attainment: p(95)>=0.9", "attainment is one number"),
        ("goodput_rps>1e999", "must be a finite number"),
        ("vs baseline: p(99)<+5%", "must read like"),
        ("", "must read like"),
        (7, "must read like"),
    ],
)
def test_a_fault_says_what_would_be_right(text: object, said: str) -> None:
    with pytest.raises(DocumentError) as error:
        Threshold.parse(text)
    assert said in str(error.value)


def test_a_list_may_hold_what_yaml_makes_of_an_unquoted_line() -> None:
    found = parse_all([{"ttft_ms": "p(95)<800"}, "attainment>=0.99"])
    assert [str(one) for one in found] == ["ttft_ms: p(95)<800", "attainment>=0.99"]


def test_k6s_mapping_is_read_too() -> None:
    found = parse_all({"ttft_ms": ["p(50)<200", "p(95)<800"], "goodput_rps": ">5"})
    assert [str(one) for one in found] == [
        "ttft_ms: p(50)<200",
        "ttft_ms: p(95)<800",
        "goodput_rps>5",
    ]


def test_every_fault_is_told_at_its_place_and_none_may_stand_twice() -> None:
    with pytest.raises(DocumentError) as error:
        parse_all(["tfft: p(95)<800", "errors<=0.1", "errors <= 0.1", 3])
    assert [problem.path for problem in error.value.problems] == [
        "thresholds.0",
        "thresholds.2",
        "thresholds.3",
    ]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("ttft_ms: p(95)<800", "P95 of TTFT < 800 ms"),
        ("attainment>=0.99", "attainment ≥ 99 %"),
        ("errors<=0.01", "error rate ≤ 1 %"),
        ("goodput_rps>5", "goodput > 5 requests/s"),
    ],
)
def test_its_label_reads_as_a_sentence_holds_it(text: str, label: str) -> None:
    assert Threshold.parse(text).label == label
