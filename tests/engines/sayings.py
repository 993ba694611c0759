"""Event streams in short: what an engine says, as the bytes of an OpenAI stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent / "fixtures"
DONE = b"data: [DONE]\n\n"


def captured(name: str) -> bytes:
    """A stream as a real engine sent it."""
    return (FIXTURES / name).read_bytes()


def event(payload: Any) -> bytes:
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def delta(finish: str | None = None, usage: dict[str, int] | None = None, **fields: Any) -> bytes:
    """One chat chunk: delta(content="Hi"), delta(finish="stop")."""
    chunk: dict[str, Any] = {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": fields, "finish_reason": finish}],
    }
    if usage is not None:
        chunk["usage"] = usage
    return event(chunk)


def usage(prompt: int, output: int) -> bytes:
    """The chunk that only counts."""
    return event({"choices": [], "usage": counts(prompt, output)})


def counts(prompt: int, output: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}


ROLE = delta(role="assistant", content="")
STOP = delta(finish="stop")
LENGTH = delta(finish="length")
HELLO = ROLE + delta(content="Hel") + delta(content="lo") + STOP + usage(3, 2) + DONE
"""A good answer of two tokens."""
