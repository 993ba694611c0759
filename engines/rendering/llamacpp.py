"""llama.cpp's flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from engines.rendering.base import Part, Teller, renderer

CONSTANT = "The batch is a constant: it can't follow the time per token."


@renderer
class LlamaCpp:
    """``llama-server``."""

    name: ClassVar[str] = "llamacpp"
    summary: ClassVar[str] = "llama.cpp: flags of `llama-server`."
    sources: ClassVar[tuple[str, ...]] = (
        "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
    )

    def tellers(self) -> Mapping[tuple[str, str], Teller]:
        return {
            ("ordering", "fcfs"): _fcfs,
            ("batching", "continuous"): _continuous,
            ("batching", "static"): _static,
            ("batching", "micro_wait"): _micro_wait,
            ("batching", "tpot_budget"): _tpot,
        }


def _fcfs(law: Any) -> Part:  # noqa: ARG001
    return Part(
        native=True,
        but={"drop_hopeless": "llama-server knows no deadlines and serves the late as well."},
    )


def _continuous(law: Any) -> Part:
    return Part(
        flags=_slots(law.token_budget, law.max_sequences),
        said=("token_budget", "max_sequences"),
        note="--ctx-size is shared by all slots: give it the context of one times --parallel.",
    )


def _static(law: Any) -> Part:
    return Part(
        flags={"--no-cont-batching": True, "--parallel": law.size},
        said=("size",),
        but={"gather_ms": "llama-server begins with whoever is there."},
    )


def _micro_wait(law: Any) -> Part:
    return Part(
        flags=_slots(law.token_budget, law.max_batch),
        said=("token_budget", "max_batch"),
        rest="llama-server never waits for company.",
    )


def _tpot(law: Any) -> Part:
    return Part(
        flags=_slots(law.token_budget, law.max_sequences),
        said=("token_budget", "max_sequences"),
        rest=CONSTANT,
    )


def _slots(tokens: int, sequences: int) -> dict[str, Any]:
    return {"--cont-batching": True, "--batch-size": tokens, "--parallel": sequences}
