"""The OpenAI shapes: bodies that ask, and what a chunk or a whole answer says."""

from __future__ import annotations

from typing import Any

import msgspec

from engines.dialect import Dialect
from engines.request import CompletionRequest

PATHS = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}
DONE = b"[DONE]"

ANSWER = 1
"""Content: what the caller asked for."""
OTHER = 2
"""Reasoning, a refusal, tool-call arguments."""


def body(request: CompletionRequest, *, model: str, dialect: Dialect) -> bytes:
    """The request body, with what this kind of engine can be asked."""
    fields: dict[str, Any] = {"model": model}
    if request.shape == "chat":
        fields["messages"] = [{"role": "user", "content": request.prompt}]
    else:
        fields["prompt"] = request.prompt
    fields["max_tokens"] = request.max_tokens
    if request.temperature is not None:
        fields["temperature"] = request.temperature
    if request.ignore_eos:
        fields |= _full_length(request.max_tokens, dialect)
    fields["stream"] = request.stream
    if request.stream and dialect.include_usage:
        options = {"include_usage": True}
        if dialect.continuous_usage:
            options["continuous_usage_stats"] = True
        fields["stream_options"] = options
    return msgspec.json.encode(fields | dict(request.extra))


def _full_length(max_tokens: int, dialect: Dialect) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if dialect.ignore_eos:
        fields["ignore_eos"] = True
    if dialect.min_tokens:
        fields["min_tokens"] = max_tokens
    return fields


class Function(msgspec.Struct, gc=False):
    """The generated part of a tool call."""

    arguments: Any = None


class ToolCall(msgspec.Struct, gc=False):
    """One tool call, or a piece of one."""

    function: Function | None = None


class Text(msgspec.Struct, gc=False):
    """A delta or a message: one field a channel. The two spellings of reasoning are both in use."""

    content: Any = None
    reasoning: Any = None
    reasoning_content: Any = None
    refusal: Any = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None

    @property
    def thinks(self) -> bool:
        """Whether a channel other than content carries generated text.

        A tool's name alone is no token: a caller who forces the tool gets it without generation.
        """
        if self.reasoning or self.reasoning_content or self.refusal:
            return True
        if self.tool_calls and any(c.function and c.function.arguments for c in self.tool_calls):
            return True
        return bool(self.function_call and self.function_call.arguments)


class Choice(msgspec.Struct, gc=False):
    """One choice: ``delta`` in a chat stream, ``message`` in a whole answer, ``text`` without."""

    delta: Text | None = None
    message: Text | None = None
    text: Any = None
    finish_reason: Any = None


class Usage(msgspec.Struct, gc=False):
    """Token counts by the engine itself."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Timings(msgspec.Struct, gc=False):
    """llama.cpp's own counts, which come at the end even where no usage was asked for."""

    prompt_n: int | None = None
    cache_n: int | None = None
    predicted_n: int | None = None

    def as_usage(self) -> Usage:
        """The same counts in the common shape: cached prompt tokens are prompt tokens."""
        prompt = None if self.prompt_n is None else self.prompt_n + (self.cache_n or 0)
        return Usage(prompt, self.predicted_n)


class Chunk(msgspec.Struct, gc=False):
    """One event's data, or a whole answer."""

    choices: list[Choice] | None = None
    usage: Usage | None = None
    timings: Timings | None = None
    error: Any = None
    object: Any = None

    @property
    def failed(self) -> bool:
        """Whether it is an error frame, in either spelling."""
        return bool(self.error) or self.object == "error"

    def channels(self) -> int:
        """Which channels carry generated text: 0 none, ANSWER, OTHER, or both."""
        found = 0
        for choice in self.choices or ():
            text = choice.delta or choice.message
            if choice.text or (text is not None and text.content):
                found |= ANSWER
            elif text is not None and text.thinks:
                found |= OTHER
        return found

    @property
    def finish_reason(self) -> str | None:
        """Why generation ended, when this chunk says so."""
        for choice in self.choices or ():
            if choice.finish_reason:
                return str(choice.finish_reason)
        return None


NotJson = msgspec.DecodeError
"""What ``decode`` raises for bytes that are no chunk: broken JSON, or another shape."""

_decode = msgspec.json.Decoder(Chunk).decode


def decode(data: bytes) -> Chunk:
    """Read a chunk; bytes that are no UTF-8 are replaced, as the event-stream standard asks."""
    try:
        return _decode(data)
    except msgspec.DecodeError:
        mended = data.decode("utf-8", "replace")
        if "\ufffd" not in mended:
            raise
        return _decode(mended)
