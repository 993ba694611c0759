"""Workloads and SLOs that a command line can name without a file."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

WORKLOADS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "chat": {
            "kind": "synthetic",
            "prompt_tokens_mean": 220,
            "prompt_tokens_sigma": 0.9,
            "prompt_tokens_min": 8,
            "prompt_tokens_max": 4_000,
            "output_tokens_mean": 160,
            "output_tokens_sigma": 0.7,
            "output_tokens_min": 4,
            "output_tokens_max": 1_000,
        },
        "summarise": {
            "kind": "synthetic",
            "prompt_tokens_mean": 2_400,
            "prompt_tokens_sigma": 0.6,
            "prompt_tokens_min": 200,
            "prompt_tokens_max": 12_000,
            "output_tokens_mean": 140,
            "output_tokens_sigma": 0.4,
            "output_tokens_min": 20,
            "output_tokens_max": 500,
        },
        "generate": {
            "kind": "synthetic",
            "prompt_tokens_mean": 80,
            "prompt_tokens_sigma": 0.5,
            "prompt_tokens_min": 8,
            "prompt_tokens_max": 500,
            "output_tokens_mean": 600,
            "output_tokens_sigma": 0.5,
            "output_tokens_min": 50,
            "output_tokens_max": 2_000,
        },
        "agents": {"kind": "agents"},
        "fixed-64": {"kind": "fixed", "prompt_tokens": 64, "output_tokens": 64},
        "fixed-512": {"kind": "fixed", "prompt_tokens": 512, "output_tokens": 128},
    }
)

SLOS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "chat-interactive": {
            "apiVersion": "headway/v1",
            "kind": "SLO",
            "metadata": {"name": "chat-interactive", "owner": "headway"},
            "spec": {
                "target": 0.99,
                "window": "28d",
                "objectives": [
                    {"metric": "ttft_ms", "max": 800},
                    {"metric": "tpot_ms", "max": 100, "target": 0.995},
                    {"metric": "error", "max": 0},
                ],
                "bands": [{"prompt_tokens_over": 4000, "ttft_ms": 2500}],
            },
        },
        "batch": {
            "apiVersion": "headway/v1",
            "kind": "SLO",
            "metadata": {"name": "batch", "owner": "headway"},
            "spec": {
                "target": 0.95,
                "window": "28d",
                "objectives": [
                    {"metric": "e2e_ms", "max": 60_000},
                    {"metric": "error", "max": 0},
                ],
            },
        },
    }
)
