"""Histograms: how precise, and that merging never loses or invents a count."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurement.histogram import (
    PRECISION,
    Histogram,
    HistogramBuilder,
    bucket_of,
    buckets_of,
    merge_all,
    middle_of,
)
from measurement.quantiles import percentile

values = st.lists(st.floats(1e-6, 3600), max_size=60)
in_range = st.floats(1e-6, 3600)


@given(in_range)
def test_a_value_comes_back_within_the_stated_precision(value: float) -> None:
    assert middle_of(bucket_of(value)) == pytest.approx(value, rel=PRECISION * (1 + 1e-9))


@given(in_range, in_range)
def test_a_greater_value_never_lands_in_a_lower_bucket(one: float, other: float) -> None:
    assert bucket_of(min(one, other)) <= bucket_of(max(one, other))


@given(st.lists(st.floats(-1, 1e5), max_size=50))
def test_many_values_at_once_land_where_each_alone_would(several: list[float]) -> None:
    assert buckets_of(several).tolist() == [bucket_of(value) for value in several]


@pytest.mark.parametrize("value", [0.0, -0.5, 9e-7, math.nan])
def test_what_is_under_a_microsecond_is_zero(value: float) -> None:
    assert middle_of(bucket_of(value)) == 0.0


@pytest.mark.parametrize("value", [3600.0, 1e9, math.inf])
def test_what_is_over_an_hour_counts_as_an_hour(value: float) -> None:
    assert middle_of(bucket_of(value)) == pytest.approx(3600, rel=PRECISION)


@given(values, values, values)
def test_merging_is_associative_commutative_and_the_histogram_of_all(
    a: list[float], b: list[float], c: list[float]
) -> None:
    one, two, three = Histogram.of(a), Histogram.of(b), Histogram.of(c)
    assert one.merge(two) == two.merge(one)
    assert one.merge(two).merge(three) == one.merge(two.merge(three))
    assert merge_all((one, two, three)) == Histogram.of([*a, *b, *c])


@given(values)
def test_json_brings_back_the_same_histogram(several: list[float]) -> None:
    histogram = Histogram.of(several)
    assert Histogram.from_json(json.loads(json.dumps(histogram.to_json()))) == histogram


@given(values.filter(bool), st.sampled_from([1, 50, 90, 95, 99, 99.9, 100]))
def test_a_percentile_is_the_exact_one_within_precision(
    several: list[float], percent: float
) -> None:
    found = Histogram.of(several).percentile(percent)
    assert found == pytest.approx(percentile(several, percent), rel=PRECISION * (1 + 1e-9))


def test_a_percentile_of_nothing_is_null_and_never_zero() -> None:
    assert Histogram().percentile(99) is None


def test_a_percentile_is_asked_for_in_percent() -> None:
    with pytest.raises(ValueError, match=r"as 99, not 0\.99"):
        Histogram.of([1.0]).percentile(0.99)


def test_weights_count_a_value_so_often() -> None:
    builder = HistogramBuilder()
    builder.record(0.5, 3)
    builder.record_all([0.5, 2.0], [2, 1])
    assert [count for _, count in builder.freeze().buckets] == [5, 1]


@given(values, st.lists(st.floats(-1.0, 7200.0), max_size=60))
def test_arrays_and_lists_count_as_each_value_does(one: list[float], more: list[float]) -> None:
    builder = HistogramBuilder()
    builder.record_array(np.array(one))
    builder.record_all(more)
    builder.record_array(np.array(more))
    assert builder.freeze() == Histogram.of([*one, *more, *more])
