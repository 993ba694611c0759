"""Rendering: what an engine is told is the policy's, and all that it can't be told is named."""

from __future__ import annotations

from typing import Any

import pytest

from documents.fields import describe
from documents.problem import DocumentError
from engines.rendering.base import render, renderers
from schedulers.decision import DecisionPoint
from schedulers.document import Policy
from tests.schedulers.law_cases import LAW_OF_EVERY_POINT

ENGINES = tuple(renderers.all())


def policy(**spec: Any) -> Policy:
    metadata = {"name": "p"}
    given = {"apiVersion": "headway/v1", "kind": "Policy", "metadata": metadata, "spec": spec}
    return Policy.parse(given)


def test_the_four_engines_are_there() -> None:
    assert ENGINES == ("llamacpp", "sglang", "trtllm", "vllm")
    with pytest.raises(DocumentError, match="unknown engine to render for; known: llamacpp"):
        render(policy(batching={"law": "continuous"}), "triton")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("point", "cls"), LAW_OF_EVERY_POINT)
def test_each_parameter_is_expressed_or_named_as_lost(
    engine: str, point: str, cls: type[Any]
) -> None:
    it = render(policy(**{point: {"law": cls.name}}), engine)
    lost = {one.path for one in it.unsaid}
    told = bool(it.flags or it.config)
    names = {f"{point}.{info.name}" for info in describe(cls)}
    assert all(one.why.endswith(".") for one in it.unsaid)
    assert lost <= names | {f"{point}.law"}
    assert told or lost == {f"{point}.law"} or engine in ("llamacpp", "trtllm")
    assert it.sources


def test_vllm_is_told_budgets_sequences_order_and_graphs() -> None:
    it = render(
        policy(
            ordering={"law": "priority"},
            batching={"law": "graph_buckets", "largest": 16, "token_budget": 4096},
        ),
        "vllm",
    )
    assert dict(it.flags) == {
        "--scheduling-policy": "priority",
        "--max-num-batched-tokens": 4096,
        "--max-num-seqs": 128,
        "--compilation-config": '{"cudagraph_capture_sizes":[1,2,4,8,16]}',
    }
    assert [one.path for one in it.unsaid] == [
        "ordering.normal_share", "ordering.batch_share", "batching.pad_max",
    ]  # fmt: skip
    assert "priority" in it.notes[0]


def test_two_laws_that_want_different_things_of_one_flag_are_told_so() -> None:
    it = render(policy(ordering={"law": "fcfs"}, preemption={"law": "lowest_priority"}), "vllm")
    assert dict(it.flags) == {"--scheduling-policy": "fcfs"}
    (lost,) = [one for one in it.unsaid if one.path == "preemption.law"]
    assert "--scheduling-policy" in lost.why


def test_tensorrt_llm_gets_a_file_with_its_sections_merged() -> None:
    it = render(policy(admission={"law": "kv_reserve"}, batching={"law": "continuous"}), "trtllm")
    assert it.flags == ()
    assert it.config == {
        "scheduler_config": {"capacity_scheduler_policy": "GUARANTEED_NO_EVICT"},
        "max_batch_size": 128,
        "max_num_tokens": 2048,
        "enable_chunked_prefill": True,
    }


def test_what_stands_before_the_engine_is_said_to() -> None:
    it = render(policy(concurrency={"law": "fixed"}), "sglang")
    assert [(one.path, one.value) for one in it.unsaid] == [("concurrency.law", "fixed")]
    assert "before the engine" in it.unsaid[0].why


def test_an_engine_that_does_so_anyway_needs_no_flag() -> None:
    it = render(policy(ordering={"law": "fcfs"}), "llamacpp")
    assert (it.flags, [one.path for one in it.unsaid]) == ((), ["ordering.drop_hopeless"])
    assert str(DecisionPoint.ORDERING) == "ordering"
