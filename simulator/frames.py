"""The shapes of answers, byte for byte as vLLM frames them: SSE chunks and whole bodies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from simulator.text import PIECES

FINGERPRINT = "headway-simulated"
DONE = b"data: [DONE]\n\n"
# A token is written between a head and a tail that are the same for the whole stream, so saying
# one costs a concatenation and no JSON. The words are plain ASCII and need no escape.
_MARK = "\x00"
_PIECES = {piece: piece.encode() for piece in PIECES}


@dataclass(frozen=True, slots=True)
class Shape:
    """Names that every chunk of one answer carries."""

    id: str
    created: int
    model: str
    chat: bool


def usage(prompt: int, completion: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "completion_tokens": completion,
    }


class ChunkWriter:
    """Makes the events of one stream."""

    __slots__ = ("_head", "_shape", "_tail")

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        event = _event(self._chunk([self._choice(_MARK, None)]))
        head, tail = event.split(json.dumps(_MARK).encode()[1:-1])
        self._head = head
        self._tail = tail

    def role(self, counted: dict[str, Any] | None) -> bytes:
        """Chat's first event, before any token."""
        choice = {
            "index": 0,
            "delta": {"role": "assistant", "content": ""},
            "logprobs": None,
            "finish_reason": None,
        }
        chunk = self._chunk([choice])
        if counted is not None:
            chunk["usage"] = counted
        return _event(chunk | {"prompt_token_ids": None, "prompt_text": None})

    def token(self, piece: str) -> bytes:
        """One token, no counts: what a stream says most of the time."""
        return self._head + _PIECES[piece] + self._tail

    def counted(
        self, text: str, reason: str | None, stop: str | None, counted: dict[str, Any] | None
    ) -> bytes:
        """One token that is the last, or carries the usage so far."""
        chunk = self._chunk([self._choice(text, reason, stop)])
        if counted is not None:
            chunk["usage"] = counted
        return _event(chunk)

    def usage(self, counted: dict[str, int]) -> bytes:
        """The event after the last token, for who asked for usage."""
        return _event(self._chunk([]) | {"usage": counted, "system_fingerprint": FINGERPRINT})

    def _chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        shape = self._shape
        return {
            "id": shape.id,
            "object": "chat.completion.chunk" if shape.chat else "text_completion",
            "created": shape.created,
            "model": shape.model,
            "choices": choices,
        }

    def _choice(self, text: str, reason: str | None, stop: str | None = None) -> dict[str, Any]:
        if self._shape.chat:
            why = {} if reason is None else {"stop_reason": stop}
            return {
                "index": 0,
                "delta": {"content": text},
                "logprobs": None,
                "finish_reason": reason,
                **why,
                "token_ids": None,
            }
        return {
            "index": 0,
            "text": text,
            "logprobs": None,
            "finish_reason": reason,
            "stop_reason": stop,
            "prompt_token_ids": None,
            "token_ids": None,
        }


def whole(shape: Shape, text: str, reason: str, stop: str | None, counted: dict[str, int]) -> bytes:
    """The body of an answer that isn't streamed."""
    said: dict[str, Any] = {"text": text}
    if shape.chat:
        message: dict[str, Any] = {
            "role": "assistant",
            "content": text,
            "refusal": None,
            "tool_calls": [],
        }
        said = {"message": message}
    choice = {"index": 0, **said, "logprobs": None, "finish_reason": reason, "stop_reason": stop}
    body = {
        "id": shape.id,
        "object": "chat.completion" if shape.chat else "text_completion",
        "created": shape.created,
        "model": shape.model,
        "choices": [choice],
        "usage": counted,
        "system_fingerprint": FINGERPRINT,
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def error_event(body: bytes) -> bytes:
    """An error inside a stream whose head has gone out with 200."""
    return b"data: " + body + b"\n\n"


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"
