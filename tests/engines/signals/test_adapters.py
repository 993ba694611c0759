"""Every kind of engine: what it says is read, what it doesn't say is None and never 0."""

from __future__ import annotations

import pytest

from documents.problem import DocumentError
from engines.signals.base import SIGNALS, EngineSignals, adapter, adapters
from tests.engines.sayings import captured

KINDS = sorted(adapters.all())


def parse(kind: str, text: str) -> EngineSignals:
    return adapter(kind).parse(text, at=7.0)


@pytest.mark.parametrize("kind", ["vllm", "simulated"])
def test_a_scrape_of_a_busy_vllm(kind: str) -> None:
    assert parse(kind, captured("vllm-metrics.txt").decode()) == EngineSignals(
        at=7.0,
        running=7.0,
        waiting=33.0,
        kv_use=0.8818897637795275,
        kv_tokens=16.0 * 127,
        preemptions=0.0,
        prefix_hits=0.0,
        prefix_queries=3425.0,
        prompt_tokens=3425.0,
        output_tokens=4867.0,
    )


def test_a_scrape_of_a_busy_llamacpp() -> None:
    assert parse("llamacpp", captured("llamacpp-metrics.txt").decode()) == EngineSignals(
        at=7.0,
        running=4.0,
        waiting=12.0,
        kv_use=None,
        preemptions=None,
        prefix_hits=538.0,
        prefix_queries=1962.0,
        prompt_tokens=1962.0,
        output_tokens=1152.0,
    )


def test_vllms_older_names_are_read_and_the_newest_wins() -> None:
    old = "vllm:gpu_cache_usage_perc 0.25\nvllm:gpu_prefix_cache_hits_total 4\n"
    seen = parse("vllm", old)
    assert (seen.kv_use, seen.prefix_hits, seen.running) == (0.25, 4.0, None)
    assert parse("vllm", old + "vllm:kv_cache_usage_perc 0.5\n").kv_use == 0.5


def test_vllms_waiting_is_the_sum_over_reasons_where_the_total_is_not_said() -> None:
    by_reason = 'vllm:num_requests_waiting_by_reason{reason="%s"} %d\n'
    assert parse("vllm", by_reason % ("capacity", 3) + by_reason % ("deferred", 2)).waiting == 5.0


def test_several_engines_add_up_and_the_fullest_cache_counts() -> None:
    text = "".join(
        f'vllm:num_requests_running{{engine="{n}"}} {running}\n'
        f'vllm:kv_cache_usage_perc{{engine="{n}"}} {use}\n'
        for n, (running, use) in enumerate([(3, 0.2), (5, 0.9)])
    )
    seen = parse("vllm", text)
    assert (seen.running, seen.kv_use) == (8.0, 0.9)


def test_the_caches_size_is_told_by_labels_and_one_that_is_no_number_says_nothing() -> None:
    line = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="%s"} 1\n'
    assert parse("vllm", line % "100" + line % "50").kv_tokens == 2400.0
    assert parse("vllm", line % "None").kv_tokens is None
    assert parse("vllm", 'vllm:cache_config_info{block_size="16"} 1').kv_tokens is None


def test_llamacpps_older_builds_say_kv_use() -> None:
    assert parse("llamacpp", "llamacpp:kv_cache_usage_ratio 0.4").kv_use == 0.4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", "<html>", '{"a": 1}', "vllm:num_requests_running NaN"])
def test_what_is_not_said_is_none(kind: str, text: str) -> None:
    assert parse(kind, text) == EngineSignals(at=7.0)
    assert parse(kind, text).present == frozenset()


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_claims_only_signals_that_exist_and_only_with_metrics(kind: str) -> None:
    made = adapter(kind)
    assert made.capabilities <= set(SIGNALS)
    assert bool(made.capabilities) == (made.metrics_path is not None)
    assert made.summary


@pytest.mark.parametrize(
    ("kind", "name"), [("vllm", "vllm-metrics.txt"), ("llamacpp", "llamacpp-metrics.txt")]
)
def test_a_real_engine_says_all_that_its_kind_claims(kind: str, name: str) -> None:
    assert parse(kind, captured(name).decode()).present == adapter(kind).capabilities


def test_an_unknown_kind_is_answered_with_the_known_ones() -> None:
    with pytest.raises(DocumentError, match="llamacpp, openai, simulated, vllm"):
        adapter("vlm")
