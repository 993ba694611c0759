"""Columns say of all samples what each sample says of itself, and their sums are their parts'."""

from __future__ import annotations

import math
import tempfile
import tracemalloc
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurement import pooled_gaps as pooling
from measurement.column_block import Block
from measurement.column_builder import ColumnsBuilder, columns_of
from measurement.columns import SampleColumns
from measurement.judgements import Judgements
from measurement.judging import judge_block, value_of
from measurement.objectives import METRICS
from measurement.outcome import Outcome
from measurement.pooled_gaps import pooled_gaps
from measurement.quantiles import Quantiles
from measurement.sample import Sample
from measurement.slo import Slo, judge
from measurement.summary import summarise
from tests.measurement.builders import answered, failed, sample_lists, slo

EVERY = [
    {"metric": "ttft_ms", "max": 900}, {"metric": "ttfat_ms", "max": 900},
    {"metric": "tpot_ms", "max": 300}, {"metric": "itl_ms", "max": 400},
    {"metric": "longest_gap_ms", "max": 700}, {"metric": "e2e_ms", "max": 2500},
    {"metric": "error", "max": 0},
]  # fmt: skip
UNDER = slo(
    *EVERY,
    bands=[
        {"prompt_tokens_over": 1000, "ttft_ms": 1500},
        {"prompt_tokens_over": 4000, "e2e_ms": 9},
    ],
    tenants={"globex": {"tpot_ms": 200, "bands": [{"prompt_tokens_over": 50, "itl_ms": 100}]}},
)


def in_order(samples: list[Sample]) -> list[Sample]:
    return sorted(samples, key=lambda sample: (sample.intended_at, sample.index))


def whole(columns: SampleColumns) -> Block:
    return columns.rows(0, len(columns))


NAMES = (
    "send_lag", "client_lag", "hold", "ttft", "service_ttft", "ttfat", "e2e", "service_e2e", "tpot",
    "normalised_latency", "mean_gap", "longest_gap",
)  # fmt: skip


@settings(max_examples=30)
@given(sample_lists())
def test_a_block_has_of_each_what_the_sample_has_itself(samples: list[Sample]) -> None:
    block = whole(columns_of(samples))
    for name in NAMES:
        own = [getattr(sample, name) for sample in in_order(samples)]
        assert [None if math.isnan(x) else x for x in getattr(block, name).tolist()] == own
    assert block.success.tolist() == [sample.outcome.success for sample in in_order(samples)]


@settings(max_examples=30)
@given(sample_lists(), st.sampled_from([None, UNDER]))
def test_all_are_judged_as_each_alone(samples: list[Sample], under: Slo | None) -> None:
    columns = columns_of(samples)
    found = judge_block(whole(columns), columns.tenants, under)
    for place, sample in enumerate(in_order(samples)):
        alone = judge(sample, under)
        assert (found.met[place], found.excluded[place]) == (alone.met, alone.excluded)
        missed = {name for name, rows in found.missed.items() if rows[place]}
        unmeasured = {name for name, rows in found.unmeasured.items() if rows[place]}
        assert (missed, unmeasured) == (set(alone.missed), set(alone.unmeasured))


@pytest.mark.parametrize("over", [0.0, 4e-7, 6e-7])
def test_a_value_is_rounded_to_the_nanosecond_before_it_is_over(over: float) -> None:
    sample = answered(first_token_at=(800 + over) / 1e3)
    found = judge_block(whole(columns_of([sample])), ("acme",), slo())
    assert found.met.tolist() == [judge(sample, slo()).met] == [over < 5e-7]


def test_every_metric_of_an_objective_has_its_columns() -> None:
    block = whole(columns_of([answered()]))
    for name, metric in METRICS.items():
        assert value_of(block, name).tolist() == [metric.of(answered())]


@settings(max_examples=30)
@given(sample_lists(20), st.floats(0, 4))
def test_a_cut_leaves_those_that_were_intended_later(samples: list[Sample], at: float) -> None:
    kept = columns_of(samples).since(at)
    left = [sample for sample in in_order(samples) if sample.intended_at >= at]
    assert whole(kept).index.tolist() == [sample.index for sample in left]
    gaps = [gap for sample in left if sample.outcome.success for gap in sample.token_gaps]
    weights = [w for sample in left if sample.outcome.success for w in sample.gap_weights]
    assert pooled_gaps(kept) == Quantiles.of(gaps, scale=1e3, weights=weights)


@settings(max_examples=30)
@given(sample_lists(20), st.permutations(range(20)))
def test_the_order_in_which_samples_come_changes_nothing(
    samples: list[Sample], order: list[int]
) -> None:
    shuffled = [samples[place] for place in order if place < len(samples)]
    found = [summarise(columns_of(rows), slo=UNDER, duration=4.0) for rows in (samples, shuffled)]
    assert found[0].to_json() == found[1].to_json()


@settings(max_examples=30)
@given(sample_lists(20), st.integers(1, 5))
def test_pieces_of_any_size_come_to_the_same(samples: list[Sample], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        one = summarise(columns_of(samples), slo=UNDER, duration=4.0, warm_up=1.0).to_json()
        for module in ("column_builder", "columns"):
            patch.setattr(f"measurement.{module}.ROWS", size)
        patch.setattr(pooling, "FEW", 0)
        many = summarise(columns_of(samples), slo=UNDER, duration=4.0, warm_up=1.0).to_json()
    assert many == one


@settings(max_examples=30)
@given(sample_lists(20))
def test_counts_of_parts_add_up_to_the_whole(samples: list[Sample]) -> None:
    columns = columns_of(samples)
    found = summarise(columns, slo=UNDER, duration=4.0)
    joint = found.whole.joint
    for rows in (found.tenants, found.bands):
        assert sum(row.joint.k for row in rows) == joint.k
        assert sum(row.joint.n for row in rows) == joint.n
    assert found.whole.offered == joint.n + found.whole.excluded == len(samples)
    assert sum(Judgements.of(columns, UNDER).tally().judged) == joint.n


def test_of_several_samples_of_one_request_the_last_stands_where_it_is_asked_for() -> None:
    twice = [answered(0), failed(Outcome.CONNECT, 1), answered(0, tenant="late", gaps=(0.5,))]
    builder = ColumnsBuilder()
    builder.extend(twice)
    columns = builder.freeze(newest=True)
    block = whole(columns)
    assert [columns.tenants[code] for code in block.tenant] == ["late", "acme"]
    assert pooled_gaps(columns).n == 1
    assert len(columns_of(twice)) == 3


def test_a_count_of_tokens_for_every_gap_or_for_none() -> None:
    with pytest.raises(ValueError, match="request 3"):
        columns_of([answered(3, gap_tokens=(1, 1))])


def test_a_piece_holds_so_many_gaps_and_one_answer_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("measurement.column_builder.GAPS", 10)
    columns = columns_of(answered(index, gaps=(0.1,) * 7) for index in range(9))
    assert [len(piece.gaps) for piece in columns.gaps.pieces()] == [14, 14, 14, 14, 7]


COLUMNS, AT_ONCE = 26, 8
"""Columns that are kept of a request, eight bytes each, and how many of them a summary may hold
whole at one time."""
A_SAMPLE = 208 + 8 * 24 + 8
"""Bytes of a sample, of the floats that are its own, and of its place in a list."""


def test_a_summary_holds_a_few_columns_and_no_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 2048
    for module in ("column_builder", "columns"):
        monkeypatch.setattr(f"measurement.{module}.ROWS", rows)
    count = 5 * rows
    gathered = rows * (A_SAMPLE + 24 + 8 + COLUMNS * 8)  # with a gap each, and as columns
    most = gathered + rows * COLUMNS * 8 + count * AT_ONCE * 8
    assert most < count * A_SAMPLE, "else it would be no less than the samples"
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as place, ExitStack() as opened:
        files = iter(range(100))

        def shelf() -> BinaryIO:
            return opened.enter_context((Path(place) / str(next(files))).open("w+b"))

        asked = (answered(index, index / 1000, gaps=(0.1,)) for index in range(count))
        columns = columns_of(asked, shelf)
        summarise(columns, slo=slo(), duration=count / 1000, warm_up=1.0)
        held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < most, f"{held:,} bytes, where {most:,} may be"
