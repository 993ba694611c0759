"""vLLM's flags."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from engines.rendering.base import Part, Teller, renderer

CONSTANT = "The token budget of a step is a constant: it can't follow the time per token."
PRIORITY = (
    "Every request must carry its tier as `priority` (0 vip, 1 normal, 2 batch): vLLM serves the "
    "lowest number first."
)
RECOMPUTE = "vLLM V1 recomputes whoever it preempts; it has no swap, no immunity and no counts."


@renderer
class Vllm:
    """``vllm serve``; V1."""

    name: ClassVar[str] = "vllm"
    summary: ClassVar[str] = "vLLM (V1): flags of `vllm serve`."
    sources: ClassVar[tuple[str, ...]] = (
        "https://docs.vllm.ai/en/stable/api/vllm/config/scheduler/",
        "https://docs.vllm.ai/en/stable/configuration/engine_args.html",
    )

    def tellers(self) -> Mapping[tuple[str, str], Teller]:
        return {
            ("ordering", "fcfs"): _fcfs,
            ("ordering", "priority"): _priority,
            ("batching", "continuous"): _continuous,
            ("batching", "graph_buckets"): _graphs,
            ("batching", "micro_wait"): _micro_wait,
            ("batching", "tpot_budget"): _tpot,
            ("preemption", "lifo"): _lifo,
            ("preemption", "lowest_priority"): _lowest,
        }


def _fcfs(law: Any) -> Part:  # noqa: ARG001
    return Part(
        flags={"--scheduling-policy": "fcfs"},
        but={"drop_hopeless": "vLLM knows no deadlines and serves the late as well."},
    )


def _priority(law: Any) -> Part:  # noqa: ARG001
    return Part(
        flags={"--scheduling-policy": "priority"},
        rest="vLLM's priorities are strict: no tier has a minimum share.",
        note=PRIORITY,
    )


def _budget(law: Any, sequences: int) -> dict[str, Any]:
    return {"--max-num-batched-tokens": law.token_budget, "--max-num-seqs": sequences}


def _continuous(law: Any) -> Part:
    return Part(flags=_budget(law, law.max_sequences), said=("token_budget", "max_sequences"))


def _graphs(law: Any) -> Part:
    sizes = [size for size in law.sizes() if size <= law.max_sequences]
    compiled = json.dumps({"cudagraph_capture_sizes": sizes}, separators=(",", ":"))
    return Part(
        flags={**_budget(law, law.max_sequences), "--compilation-config": compiled},
        said=("spacing", "largest", "token_budget", "max_sequences"),
        but={"pad_max": "vLLM pads to the next captured size, whatever that wastes."},
    )


def _micro_wait(law: Any) -> Part:
    return Part(
        flags=_budget(law, law.max_batch),
        said=("token_budget", "max_batch"),
        rest="vLLM never waits for company.",
    )


def _tpot(law: Any) -> Part:
    return Part(
        flags=_budget(law, law.max_sequences),
        said=("token_budget", "max_sequences"),
        rest=CONSTANT,
        note="The largest step is always allowed, so TPOT is not kept: lower the budget by test.",
    )


def _lifo(law: Any) -> Part:  # noqa: ARG001
    return Part(flags={"--scheduling-policy": "fcfs"}, rest=RECOMPUTE)


def _lowest(law: Any) -> Part:  # noqa: ARG001
    return Part(flags={"--scheduling-policy": "priority"}, rest=RECOMPUTE, note=PRIORITY)
