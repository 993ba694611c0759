"""Profiles: one file says what a GPU, a model and an engine cost per step, and how sure we are."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml

from documents.fields import parameter
from documents.parse import build
from documents.problem import DocumentError, Problem
from simulator.core.config import EngineConfig
from simulator.core.cost import StepCost

DEFAULT = "qwen3-32b-h100-tp2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One YAML file of ``simulator/profiles/``; its name is the file's."""

    gpu: str = parameter(help="GPU, with its memory where it matters")
    model: str = parameter(help="model and number format")
    tensor_parallel: int = parameter(minimum=1, unit="GPUs")
    engine: str = parameter(help="engine and version that the numbers stand for")

    t0_ms: float = parameter(minimum=0.0, unit="ms", help="launch, sampling, host work per step")
    t_w_ms: float = parameter(minimum=0.0, unit="ms", help="weights read once per step")
    t_c_ms: float = parameter(minimum=0.0, unit="ms/token", help="matrix work per token")
    t_kv_ms: float = parameter(minimum=0.0, unit="ms/token", help="context read by decodes")
    t_s_ms: float = parameter(minimum=0.0, unit="ms/sequence", help="host work per sequence")
    t_a_ms: float = parameter(minimum=0.0, unit="ms/pair", help="prefill attention pair")

    kv_bytes_per_token: int = parameter(
        minimum=1, unit="bytes", help="over all GPUs; of one rank for MLA"
    )
    blocks: int = parameter(minimum=2, unit="blocks", help="KV blocks, the null block among them")
    block_size: int = parameter(default=16, minimum=1, unit="tokens")
    token_budget: int = parameter(minimum=1, unit="tokens", help="max_num_batched_tokens")
    max_seqs: int = parameter(minimum=1, unit="sequences", help="max_num_seqs")
    max_model_len: int = parameter(minimum=2, unit="tokens")
    watermark: float = parameter(default=0.0, minimum=0.0, maximum=0.5, unit="of the blocks")

    ingest_ms: float = parameter(
        default=10.0, minimum=0.0, unit="ms", help="median of HTTP and tokeniser before the queue"
    )
    ingest_sigma: float = parameter(default=0.3, minimum=0.0, help="its spread (log-normal)")

    source: str = parameter(help="where the parameters come from")
    error: str = parameter(help="stated error, in words")
    mean_error_percent: float | None = parameter(
        default=None, minimum=0.0, unit="%", help="mean TPOT error of the end-to-end check"
    )

    @property
    def checked(self) -> bool:
        """Whether the profile was held against an engine end to end."""
        return self.mean_error_percent is not None

    @property
    def cost(self) -> StepCost:
        return StepCost(
            t0_ms=self.t0_ms,
            t_w_ms=self.t_w_ms,
            t_c_ms=self.t_c_ms,
            t_kv_ms=self.t_kv_ms,
            t_s_ms=self.t_s_ms,
            t_a_ms=self.t_a_ms,
        )

    def config(self, **overrides: Any) -> EngineConfig:
        """The engine that this profile stands for; overrides are fields of EngineConfig."""
        fields: dict[str, Any] = {
            "cost": self.cost,
            "blocks": self.blocks,
            "block_size": self.block_size,
            "token_budget": self.token_budget,
            "max_seqs": self.max_seqs,
            "max_model_len": self.max_model_len,
            "watermark": self.watermark,
            "ingest_s": self.ingest_ms / 1e3,
            "ingest_sigma": self.ingest_sigma,
        }
        return EngineConfig(**(fields | overrides))


def names() -> list[str]:
    """The profiles that ship, in order of name."""
    return sorted(file.name.removesuffix(".yaml") for file in _files())


def load(name: str) -> Profile:
    """A shipped profile by name, or a YAML file by its path. DocumentError says what is wrong."""
    for file in _files():
        if file.name == f"{name}.yaml":
            return parse(file.read_text(encoding="utf-8"), path=name)
    path = Path(name)
    if path.suffix in (".yaml", ".yml") and path.is_file():
        return parse(path.read_text(encoding="utf-8"), path=path.name)
    known = ", ".join(names())
    raise DocumentError([Problem("profile", name, f"unknown; a .yaml file, or one of: {known}")])


def parse(text: str, *, path: str = "") -> Profile:
    """A profile from its text, with every fault told."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DocumentError([Problem(path, text, f"is not YAML: {error}")]) from None
    profile = build(Profile, document, path=path)
    try:
        profile.config()
    except DocumentError as error:
        raise (error.below(path) if path else error) from None
    return profile


def _files() -> list[Traversable]:
    folder = resources.files("simulator.profiles")
    return [file for file in folder.iterdir() if file.name.endswith(".yaml")]
