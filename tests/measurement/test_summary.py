"""The summary: denominators, the warm-up cut, tokens, tenants."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings

from measurement.column_builder import columns_of
from measurement.outcome import Outcome, TokenSource
from measurement.sample import Sample
from measurement.summary import Summary, summarise
from measurement.token_times import Streamed, arrivals, tokens_between
from measurement.tokens import Tokens
from tests.measurement.builders import answered, failed, sample_lists, slo


def summed(samples: list[Sample], duration: float = 20.0, **more: float) -> Summary:
    warm_up = more.get("warm_up", 0.0)
    return summarise(columns_of(samples), slo=slo(), duration=duration, warm_up=warm_up)


def mixed() -> list[Sample]:
    """1,000 requests, 50 a second: 10 rejected, 20 shed, 30 failed, 40 late, 5 cancelled."""
    kinds = {
        range(100, 110): lambda i, at: failed(Outcome.REJECTED_429, i, at),
        range(200, 220): lambda i, at: failed(Outcome.SHED, i, at, sent_at=None),
        range(300, 330): lambda i, at: failed(Outcome.INCOMPLETE, i, at, output_tokens=2),
        range(400, 440): lambda i, at: answered(i, at, first_token_at=at + 1.0),
        range(500, 505): lambda i, at: failed(Outcome.CANCELLED, i, at),
    }
    rows = []
    for i in range(1000):
        make = next((make for places, make in kinds.items() if i in places), answered)
        rows.append(make(i, i / 50))
    return rows


def test_attainment_is_over_all_that_was_offered_but_the_excluded() -> None:
    found = summed(mixed()).steady
    assert (found.offered, found.excluded, found.joint.n, found.joint.k) == (1000, 5, 995, 895)
    assert found.attainment == 895 / 995
    assert found.attainment_accepted == 895 / 965
    assert found.rejection_rate == 0.03


def test_rates_are_per_second_of_the_schedule() -> None:
    found = summed(mixed()).to_json()
    assert (found["offered_rate"], found["achieved_rate"]) == (50.0, 49.0)
    assert found["goodput_rps"] == 895 / 20
    assert found["goodput_tokens_ps"] == 895 * 5 / 20
    assert (found["offered"], found["sent"]) == (1000, 980)
    assert sum(found["outcomes"].values()) == 1000


def test_a_failure_is_credited_with_what_it_received_and_no_more() -> None:
    found = summed(mixed()).to_json()
    assert found["output_tokens"] == 935 * 5 + 30 * 2


def test_latencies_cover_successes_and_keep_both_clocks() -> None:
    held = [answered(i, i / 50, sent_at=i / 50 + 0.05) for i in range(1000)]
    found = summed([*held, failed(Outcome.HTTP_5XX, 1000, 20.0)]).to_json()
    assert (found["ttft_ms"]["n"], found["ttft_ms"]["p99"]) == (1000, 100.0)
    assert found["service_ttft_ms"]["p99"] == pytest.approx(50.0)
    assert found["send_lag_ms"]["p50"] == pytest.approx(50.0)


def test_a_percentile_of_too_few_is_null_and_stands_apart() -> None:
    found = summed([answered(i, i / 50) for i in range(100)]).to_json()
    assert (found["ttft_ms"]["p50"], found["ttft_ms"]["p99"]) == (100.0, None)
    assert found["ttft_ms"]["rough"] == {"p99": 100.0}


def test_an_empty_run_is_null_and_never_zero() -> None:
    found = summed([], duration=0.0).to_json()
    assert found["attainment"] is None
    assert found["goodput_rps"] is None
    assert found["ttft_ms"]["p50"] is None
    assert found["output_tokens"] is None
    assert found["worst_tenant"] is None


def test_warm_up_is_cut_by_intended_start_and_whole_numbers_stand_beside() -> None:
    cold = [answered(i, i / 50, first_token_at=i / 50 + 5, done_at=i / 50 + 9) for i in range(250)]
    warm = [answered(i, i / 50) for i in range(250, 1000)]
    found = summed([*cold, *warm], warm_up=5.0).to_json()
    assert (found["offered"], found["seconds"], found["attainment"]) == (750, 15.0, 1.0)
    assert (found["cut"]["method"], found["cut"]["requests_cut"]) == ("seconds", 250)
    assert found["cut"]["whole"]["attainment"] == 0.75
    assert found["cut"]["whole"]["offered"] == 1000


def test_tokens_count_in_the_part_that_they_arrived_in() -> None:
    stream = answered(0, 0.0, first_token_at=4.0, last_token_at=6.0, gaps=(0.5,) * 4)
    late = answered(1, 9.9)
    found = summed([stream, late], duration=10.0, warm_up=5.0)
    assert found.steady.tokens_within == 3  # of the stream: at 5.0, 5.5 and 6.0
    assert found.steady.tokens.output == 5
    assert found.whole.tokens_within == 5
    assert found.to_json()["output_tokens_ps"] == 3 / 5


def test_tokens_that_share_chunks_arrive_where_the_stream_says() -> None:
    gaps = np.array([1.0, 1.0])
    told = Streamed(6, 0.1, 2, gaps, np.array([3, 1]))
    assert arrivals(told)[1].tolist() == [2, 3, 1]
    silent = Streamed(6, 0.1, 2, gaps, None)
    assert arrivals(silent)[1].tolist() == [2, 2, 2]
    whole = columns_of(
        [answered(first_token_at=None, last_token_at=None, gaps=(), gap_tokens=None, done_at=3.0)]
    )
    assert [tokens_between(whole, at, at + 1) for at in (2.0, 3.0, 4.0)] == [0, 5, 0]
    assert tokens_between(columns_of([answered(output_tokens=None)]), 0, 9) == 0


@given(sample_lists())
def test_no_token_is_lost_or_made_by_when_it_arrived(samples: list[Sample]) -> None:
    total = sum(sample.output_tokens or 0 for sample in samples)
    columns = columns_of(samples)
    assert tokens_between(columns, 0.0, 100.0) == total
    parts = [tokens_between(columns, edge, edge + 0.5) for edge in (x / 2 for x in range(60))]
    assert sum(parts) == total


def test_a_stall_is_seen_that_pooled_gaps_hide() -> None:
    smooth = [answered(i, i / 50, gaps=(0.02,) * 100) for i in range(999)]
    stalled = answered(999, 19.98, gaps=(0.02,) * 99 + (30.0,))
    found = summed([*smooth, stalled]).to_json()
    assert found["itl_ms"]["p99"] == 20.0
    assert found["longest_gap_ms"]["max"] == 30_000.0


def test_gaps_between_chunks_are_not_called_itl() -> None:
    assert summed([answered()]).to_json()["itl_kind"] == "icl"
    weighted = answered(gaps=(0.4,), gap_tokens=(4,), chunks=2)
    found = summed([weighted]).to_json()
    assert (found["itl_kind"], found["itl_ms"]["n"]) == ("itl", 4)
    assert found["itl_ms"]["rough"]["p99"] == pytest.approx(100.0)
    assert summed([weighted, answered(1)]).to_json()["itl_kind"] == "icl"
    assert summed([answered(gaps=())]).to_json()["itl_kind"] is None


def test_token_sources_that_disagree_are_told() -> None:
    agreeing = [answered(i) for i in range(10)]
    assert Tokens.of(columns_of(agreeing)) == Tokens(100, 50, {"usage": 10})
    bundled = [answered(i, output_tokens=8) for i in range(10)]
    assert Tokens.of(columns_of(bundled)).note == (
        "Token sources disagree: 80 tokens by usage, 50 by chunks (-37.5 %); the first is used."
    )
    told = answered(output_tokens=8, gap_tokens=(1, 1, 1, 1))
    assert "5 by continuous usage" in Tokens.of(columns_of([told])).note
    chunks = answered(token_source=TokenSource.CHUNKS, output_tokens=50)
    assert Tokens.of(columns_of([chunks])).note == ""
    both = [answered(0), answered(1, token_source=TokenSource.CHUNKS)]
    found = Tokens.of(columns_of(both))
    assert (found.source, found.sources) == ("mixed", {"usage": 1, "chunks": 1})


def test_tenants_have_a_row_each_and_the_worst_is_named() -> None:
    good = [answered(i, i / 50, tenant="acme") for i in range(600)]
    bad = [failed(Outcome.SHED, i, i / 50, tenant="globex", sent_at=None) for i in range(600, 800)]
    mid = [answered(i, i / 50, tenant="globex") for i in range(800, 1000)]
    under = slo(tenants={"globex": {"target": 0.5}})
    found = summarise(columns_of([*good, *bad, *mid]), slo=under, duration=20.0).to_json()
    acme, globex = found["tenants"]
    assert [row["tenant"] for row in (acme, globex)] == ["acme", "globex"]
    assert (acme["attainment"], globex["attainment"], globex["shed"]) == (1.0, 0.5, 200)
    assert (acme["target"], globex["target"]) == (0.99, 0.5)
    assert globex["low"] < 0.5 < globex["high"]
    assert (acme["token_share"], globex["token_share"]) == (0.75, 0.25)
    assert (acme["ttft_ms"]["p99"], globex["ttft_ms"]["p99"]) == (100.0, None)
    assert found["worst_tenant"] == "globex"
    assert found["fairness"]["max_min"] == 2.0
    assert found["fairness"]["jain"] == pytest.approx(4**2 / (2 * (3**2 + 1)))


def test_fairness_is_by_weight() -> None:
    rows = [answered(i, i / 50, tenant="big" if i % 4 else "small") for i in range(400)]
    weights = {"big": 3.0, "small": 1.0}
    found = summarise(columns_of(rows), slo=None, duration=8.0, weights=weights)
    assert found.fairness["jain"] == pytest.approx(1.0)


def test_the_summary_carries_littles_law_and_intervals() -> None:
    found = summed([answered(i, i / 50) for i in range(1000)]).to_json()
    assert found["little"]["status"] == "ok"
    assert found["intervals"]["ttft_ms"]["p50"]["method"] == "batch means"


@settings(max_examples=40)
@given(sample_lists())
def test_every_summary_is_plain_json_and_reconciles(samples: list[Sample]) -> None:
    found = summarise(columns_of(samples), slo=slo(), duration=4.0, warm_up=1.0).to_json()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert sum(found["outcomes"].values()) == found["offered"]
    assert found["cut"]["whole"]["offered"] == len(samples)
    assert sum(row["offered"] for row in found["tenants"]) == found["offered"]
