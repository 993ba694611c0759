"""What workloads ask for: means, spread, clamps, and faults named where they stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from documents.parse import build
from documents.problem import DocumentError
from loadtest.workloads.base import workloads


def synthetic(**given: Any) -> Any:
    return build(workloads.get("synthetic"), given)


def test_lognormal_lengths_have_the_mean_that_was_asked() -> None:
    lengths = synthetic(prompt_tokens_mean=300, prompt_tokens_sigma=0.8).prompt_lengths(
        200_000, np.random.default_rng(1)
    )
    assert lengths.mean() == pytest.approx(300, rel=0.02)
    assert np.std(np.log(lengths)) == pytest.approx(0.8, rel=0.02)


def test_lengths_are_clamped() -> None:
    work = synthetic(output_tokens_sigma=2.0, output_tokens_min=16, output_tokens_max=256)
    lengths = work.output_lengths(10_000, np.random.default_rng(1))
    assert (lengths.min(), lengths.max()) == (16, 256)


def test_without_spread_every_length_is_the_mean() -> None:
    assert set(synthetic().prompt_lengths(100, np.random.default_rng(1)).tolist()) == {256}


def test_fixed_asks_the_same_of_every_request() -> None:
    work = build(workloads.get("fixed"), {"prompt_tokens": 10, "output_tokens": 20})
    rng = np.random.default_rng(1)
    assert set(work.prompt_lengths(9, rng)) == {10}
    assert set(work.output_lengths(9, rng)) == {20}


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"prompt_tokens_min": 300, "prompt_tokens_max": 200}, "prompt_tokens_min"),
        ({"output_tokens_mean": 9_000}, "output_tokens_mean"),
        ({"tenants": {"vip": 0}}, "tenants.vip"),
        ({"tenants": {"": 1}}, "tenants."),
        ({"tenants": {"a": True}}, "tenants.a"),
        ({"tenants": ["a"]}, "tenants"),
        ({"prompt_tokens_sigma": 9}, "prompt_tokens_sigma"),
        ({"promt_tokens_mean": 9}, "promt_tokens_mean"),
    ],
)
def test_a_fault_is_named_by_its_path(given: dict[str, Any], path: str) -> None:
    with pytest.raises(DocumentError) as caught:
        build(workloads.get("synthetic"), given, path="workload")
    assert [problem.path for problem in caught.value.problems] == [f"workload.{path}"]
