"""/metrics is vLLM's: families, types, labels and bucket bounds, held against a real scrape."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simulator.metrics import length_bounds
from simulator.prometheus import Exposition, Histogram
from tests.simulator.core.engines import config
from tests.simulator.serving import ask, serving

REAL = (Path(__file__).parent / "fixtures/vllm-0.32-metrics.txt").read_text()
NOT_MODELLED = re.compile(r"estimated_|engine_sleep_state|external_|mm_cache|cached_by_source")


def shape(page: str) -> tuple[dict[str, str], set[tuple[str, tuple[tuple[str, str], ...]]]]:
    """Types by family, and every sample's name with its labels; the model's name left out."""
    types = dict(re.findall(r"^# TYPE (vllm:\S+) (\S+)$", page, flags=re.MULTILINE))
    samples = set()
    for name, labels in re.findall(r"^(vllm:\w+)\{(.*)\} \S+$", page, flags=re.MULTILINE):
        pairs = re.findall(r'(\w+)="([^"]*)"', labels)
        samples.add((name, tuple((key, "*" if key == "model_name" else to) for key, to in pairs)))
    return types, samples


async def test_what_a_real_engine_says_the_simulated_one_says_too() -> None:
    async with serving(config(blocks=2001, max_model_len=2048)) as server:
        page = (await ask(server, "GET", "/metrics")).body.decode()
    types, samples = shape(re.sub(r"^.*vllm:cache_config_info.*\n", "", page, flags=re.MULTILINE))
    real_types, real_samples = shape(REAL)
    assert types == {
        name: kind for name, kind in real_types.items() if not NOT_MODELLED.search(name)
    }
    assert samples == {each for each in real_samples if not NOT_MODELLED.search(each[0])}


async def test_the_cache_is_described_as_vllm_does() -> None:
    async with serving(config(blocks=500)) as server:
        page = (await ask(server, "GET", "/metrics")).body.decode()
    line = next(line for line in page.splitlines() if line.startswith("vllm:cache_config_info{"))
    assert 'block_size="4"' in line
    assert 'num_gpu_blocks="500"' in line


@pytest.mark.parametrize(
    ("longest", "bounds"),
    [(1, (1,)), (9, (1, 2, 5)), (2048, (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000))],
)
def test_lengths_are_counted_by_1_2_5(longest: int, bounds: tuple[int, ...]) -> None:
    assert length_bounds(longest) == bounds


def test_a_bound_counts_what_is_equal_to_it() -> None:
    histogram = Histogram([1, 2])
    for value in (1.0, 1.5, 2.0, 9.0):
        histogram.observe(value)
    page = Exposition({"engine": "0"})
    page.histogram("h", "Help.", histogram)
    assert re.findall(r" (\S+)$", page.text(), flags=re.MULTILINE)[-5:] == [
        "1.0",
        "3.0",
        "4.0",
        "4.0",
        "13.5",
    ]


def test_label_values_are_escaped() -> None:
    page = Exposition({"model_name": 'a"b\\c\nd'})
    page.gauge("g", "Help.", 1)
    assert page.text().splitlines()[-1] == 'g{model_name="a\\"b\\\\c\\nd"} 1.0'
