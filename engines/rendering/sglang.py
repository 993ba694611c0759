"""SGLang's flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from engines.rendering.base import Part, Teller, renderer

CHUNKS = "SGLang's chunk of a prompt is a constant: it can't follow the time per token."
PRIORITY = "Every request must carry its tier as `priority`: 0 vip, 1 normal, 2 batch."


@renderer
class Sglang:
    """``python -m sglang.launch_server``."""

    name: ClassVar[str] = "sglang"
    summary: ClassVar[str] = "SGLang: flags of `python -m sglang.launch_server`."
    sources: ClassVar[tuple[str, ...]] = (
        "https://docs.sglang.io/advanced_features/server_arguments.html",
        "https://docs.sglang.io/advanced_features/hyperparameter_tuning.html",
    )

    def tellers(self) -> Mapping[tuple[str, str], Teller]:
        return {
            ("ordering", "fcfs"): _fcfs,
            ("ordering", "priority"): _priority,
            ("batching", "continuous"): _continuous,
            ("batching", "graph_buckets"): _graphs,
            ("batching", "micro_wait"): _micro_wait,
            ("batching", "tpot_budget"): _tpot,
        }


def _fcfs(law: Any) -> Part:  # noqa: ARG001
    return Part(
        flags={"--schedule-policy": "fcfs"},
        but={"drop_hopeless": "SGLang knows no deadlines and serves the late as well."},
    )


def _priority(law: Any) -> Part:  # noqa: ARG001
    return Part(
        flags={
            "--schedule-policy": "fcfs",
            "--enable-priority-scheduling": True,
            "--schedule-low-priority-values-first": True,
        },
        rest="SGLang's priorities are strict: no tier has a minimum share.",
        note=PRIORITY,
    )


def _budget(law: Any, sequences: int) -> dict[str, Any]:
    return {"--chunked-prefill-size": law.token_budget, "--max-running-requests": sequences}


def _continuous(law: Any) -> Part:
    return Part(
        flags={**_budget(law, law.max_sequences), "--enable-mixed-chunk": True},
        said=("token_budget", "max_sequences"),
        note="The chunk is the prompts' share of a step alone; decoding comes on top of it.",
    )


def _graphs(law: Any) -> Part:
    sizes = " ".join(str(size) for size in law.sizes() if size <= law.max_sequences)
    return Part(
        flags={**_budget(law, law.max_sequences), "--cuda-graph-bs": sizes},
        said=("spacing", "largest", "token_budget", "max_sequences"),
        but={"pad_max": "SGLang pads to the next captured size, whatever that wastes."},
    )


def _micro_wait(law: Any) -> Part:
    return Part(
        flags=_budget(law, law.max_batch),
        said=("token_budget", "max_batch"),
        rest="SGLang never waits for company.",
    )


def _tpot(law: Any) -> Part:
    return Part(
        flags={**_budget(law, law.max_sequences), "--enable-mixed-chunk": True},
        said=("token_budget", "max_sequences"),
        rest=CHUNKS,
        note="The largest chunk is always allowed, so TPOT is not kept: lower it by test.",
    )
