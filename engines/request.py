"""What is asked of an engine, and how long an answer may take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One completion. What the target's kind can't be asked (``ignore_eos``) is left out."""

    prompt: str
    max_tokens: int
    stream: bool = True
    ignore_eos: bool = True
    """Ask for exactly ``max_tokens`` tokens, where the engine can be told so."""
    temperature: float | None = None
    tenant: str = ""
    """Whose request it is: for the caller's own books, never sent."""
    shape: Literal["chat", "completions"] = "chat"
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further body fields, as they are; they win over ours."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Four time-outs in seconds, each with an outcome of its own; ``math.inf`` turns one off.

    ``connect`` covers name, TCP and TLS. ``first_token`` runs from the send to the first token,
    ``idle`` from one event to the next after it (comments don't count), both only for streams.
    ``total`` runs from the call to its end.
    """

    connect: float = 10.0
    first_token: float = 300.0
    idle: float = 60.0
    total: float = 900.0

    def __post_init__(self) -> None:
        for name in ("connect", "first_token", "idle", "total"):
            value = getattr(self, name)
            if math.isnan(value) or value <= 0:
                raise ValueError(f"timeouts.{name} must be above 0 s (got {value})")
