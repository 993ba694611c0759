"""A completion request's body becomes an Ask, or an ApiError that names the field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from simulator.errors import ApiError
from simulator.text import Wanted, key_of, tokens_of

DEFAULT_COMPLETION_TOKENS = 16
"""What /v1/completions answers without max_tokens, as OpenAI and vLLM have it."""


class StreamOptions(msgspec.Struct):
    include_usage: bool | None = False
    continuous_usage_stats: bool | None = False


class Body(msgspec.Struct):
    """The fields both routes read; others are taken and left alone."""

    model: str | None = None
    max_tokens: int | None = None
    min_tokens: int | None = 0
    ignore_eos: bool | None = False
    stop: str | list[str] | None = None
    include_stop_str_in_output: bool | None = False
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    seed: int | None = None
    n: int | None = 1


class Part(msgspec.Struct):
    type: str = "text"
    text: str | None = None


class Message(msgspec.Struct):
    role: str
    content: str | list[Part] | None = None


class ChatBody(Body, kw_only=True):
    messages: list[Message]
    max_completion_tokens: int | None = None


class CompletionBody(Body, kw_only=True):
    prompt: str | list[Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """What a client wants: everything that the engine and the answer need."""

    chat: bool
    tokens: Sequence[bytes]
    """Of the prompt."""
    key: int
    wanted: Wanted
    stream: bool
    include_usage: bool
    continuous_usage: bool

    @property
    def prompt_tokens(self) -> int:
        """How many tokens the prompt has: at least one, which an empty one has too."""
        return max(1, len(self.tokens))


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads bodies for one served model."""

    model: str
    max_model_len: int
    seed: int

    def chat(self, body: bytes) -> Ask:
        """An Ask from the body of /v1/chat/completions."""
        given = _decode(body, _CHAT)
        if not given.messages:
            raise ApiError(400, "messages: must hold at least one message", param="messages")
        text = "\n".join(part for message in given.messages for part in _texts(message))
        limit = given.max_completion_tokens
        most = given.max_tokens if limit is None else limit
        return self._ask(given, text, tokens_of(text), most, chat=True)

    def completion(self, body: bytes) -> Ask:
        """An Ask from the body of /v1/completions."""
        given = _decode(body, _COMPLETION)
        text, tokens = _prompt(given.prompt)
        most = DEFAULT_COMPLETION_TOKENS if given.max_tokens is None else given.max_tokens
        return self._ask(given, text, tokens, most, chat=False)

    def _ask(
        self, given: Body, text: str, tokens: Sequence[bytes], most: int | None, *, chat: bool
    ) -> Ask:
        if given.model is not None and given.model != self.model:
            raise ApiError(404, f"The model `{given.model}` does not exist.", param="model")
        if given.n not in (None, 1):
            raise ApiError(400, "n: the simulated engine gives one choice", param="n")
        prompt_tokens = max(1, len(tokens))
        options = given.stream_options or StreamOptions()
        stream = bool(given.stream)
        if given.stream_options is not None and not stream:
            message = "stream_options: only with stream=true"
            raise ApiError(400, message, param="stream_options")
        return Ask(
            chat=chat,
            tokens=tokens,
            key=key_of(text, self.seed if given.seed is None else given.seed),
            wanted=self._wanted(given, prompt_tokens, most),
            stream=stream,
            include_usage=bool(options.include_usage),
            continuous_usage=bool(options.continuous_usage_stats),
        )

    def _wanted(self, given: Body, prompt_tokens: int, most: int | None) -> Wanted:
        room = self.max_model_len - prompt_tokens
        if most is not None and most < 1:
            raise ApiError(400, f"max_tokens must be at least 1, got {most}.", param="max_tokens")
        if room < (most or 1):
            asked = f" and {most} in the completion" if most is not None else ""
            message = (
                f"This model's maximum context length is {self.max_model_len} tokens. However, "
                f"you requested {prompt_tokens} tokens in the messages{asked}. "
                "Please reduce the length."
            )
            raise ApiError(400, message, param="input_tokens")
        least = given.min_tokens or 0
        limit = room if most is None else most
        if not 0 <= least <= limit:
            message = f"min_tokens must be from 0 to max_tokens ({limit}), got {least}."
            raise ApiError(400, message, param="min_tokens")
        return Wanted(
            max_tokens=limit,
            min_tokens=least,
            ignore_eos=bool(given.ignore_eos),
            stop=_stops(given.stop),
            show_stop=bool(given.include_stop_str_in_output),
        )


B = TypeVar("B", bound=Body)
_CHAT = msgspec.json.Decoder(ChatBody)
_COMPLETION = msgspec.json.Decoder(CompletionBody)


def _decode(body: bytes, decoder: msgspec.json.Decoder[B]) -> B:
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise ApiError(400, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, f"The body is not JSON: {error}") from None


def _texts(message: Message) -> list[str]:
    if message.content is None:
        return []
    if isinstance(message.content, str):
        return [message.content]
    return [part.text for part in message.content if part.text is not None]


def _prompt(prompt: str | list[Any]) -> tuple[str, list[bytes]]:
    """The prompt's text and tokens; a list of token ids is what it holds."""
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        prompt = prompt[0]
    if isinstance(prompt, str):
        return prompt, tokens_of(prompt)
    if prompt and all(isinstance(token, int) and not isinstance(token, bool) for token in prompt):
        words = [str(token) for token in prompt]
        return " ".join(words), [word.encode() for word in words]
    message = "prompt: must be one text, or one list of token ids"
    raise ApiError(400, message, param="prompt")


def _stops(stop: str | list[str] | None) -> tuple[str, ...]:
    stops = (stop,) if isinstance(stop, str) else tuple(stop or ())
    if "" in stops:
        raise ApiError(400, "stop: cannot hold an empty string", param="stop")
    return stops
