"""TensorRT-LLM's configuration file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from engines.rendering.base import Part, Teller, renderer

CONSTANT = "max_num_tokens is a constant: it can't follow the time per token."
POLICY = "capacity_scheduler_policy"


@renderer
class Trtllm:
    """``trtllm-serve``, with a file of options of the LLM API."""

    name: ClassVar[str] = "trtllm"
    summary: ClassVar[str] = "TensorRT-LLM: a file for `trtllm-serve --extra_llm_api_options`."
    sources: ClassVar[tuple[str, ...]] = (
        "https://nvidia.github.io/TensorRT-LLM/1.4.0rc4/llm-api/reference/SchedulerConfig.html",
        "https://nvidia.github.io/TensorRT-LLM/performance/performance-tuning-guide/useful-runtime-flags.html",
        "https://nvidia.github.io/TensorRT-LLM/1.3.0rc27/llm-api/reference/DecodeCudaGraphConfig.html",
    )

    def tellers(self) -> Mapping[tuple[str, str], Teller]:
        return {
            ("admission", "kv_reserve"): _reserve,
            ("ordering", "fcfs"): _fcfs,
            ("batching", "continuous"): _continuous,
            ("batching", "static"): _static,
            ("batching", "graph_buckets"): _graphs,
            ("batching", "micro_wait"): _micro_wait,
            ("batching", "tpot_budget"): _tpot,
        }


def _reserve(law: Any) -> Part:  # noqa: ARG001
    return Part(
        config={"scheduler_config": {POLICY: "GUARANTEED_NO_EVICT"}},
        rest="GUARANTEED_NO_EVICT reserves what each request could need at most: no means, no "
        "tiers, no slots by tier.",
    )


def _fcfs(law: Any) -> Part:  # noqa: ARG001
    return Part(
        native=True,
        but={"drop_hopeless": "TensorRT-LLM knows no deadlines and serves the late as well."},
    )


def _sizes(tokens: int, sequences: int) -> dict[str, Any]:
    return {
        "max_batch_size": sequences, "max_num_tokens": tokens, "enable_chunked_prefill": True,
    }  # fmt: skip


def _continuous(law: Any) -> Part:
    return Part(
        config=_sizes(law.token_budget, law.max_sequences), said=("token_budget", "max_sequences")
    )


def _static(law: Any) -> Part:
    return Part(
        config={"max_batch_size": law.size, "scheduler_config": {POLICY: "STATIC_BATCH"}},
        said=("size",),
        but={"gather_ms": "A static batch begins with whoever is there."},
        note="STATIC_BATCH is a legacy mode that NVIDIA does not recommend.",
    )


def _graphs(law: Any) -> Part:
    sizes = [size for size in law.sizes() if size <= law.max_sequences]
    graphs = {"cuda_graph_config": {"enable_padding": True, "batch_sizes": sizes}}
    return Part(
        config={**_sizes(law.token_budget, law.max_sequences), **graphs},
        said=("spacing", "largest", "token_budget", "max_sequences"),
        but={"pad_max": "It pads to the next captured size, whatever that wastes."},
    )


def _micro_wait(law: Any) -> Part:
    return Part(
        config=_sizes(law.token_budget, law.max_batch),
        said=("token_budget", "max_batch"),
        rest="No wait for company that ends in milliseconds is offered.",
    )


def _tpot(law: Any) -> Part:
    return Part(
        config=_sizes(law.token_budget, law.max_sequences),
        said=("token_budget", "max_sequences"),
        rest=CONSTANT,
    )
