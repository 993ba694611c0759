"""Turns the tokens of one request into its answer, streamed or whole."""

from __future__ import annotations

from typing import Any

from simulator.ask import Ask
from simulator.frames import DONE, ChunkWriter, Shape, usage, whole
from simulator.http.exchange import Exchange
from simulator.text import WIDTH, Ending, piece, text_of


class Answering:
    """Listens to one request of the host and writes its answer."""

    __slots__ = ("_ask", "_ending", "_exchange", "_said", "_shape", "_writer")

    def __init__(self, exchange: Exchange, ask: Ask, ending: Ending, shape: Shape) -> None:
        self._exchange = exchange
        self._ask = ask
        self._ending = ending
        self._shape = shape
        self._writer = ChunkWriter(shape) if ask.stream else None
        self._said = 0

    def token(self, *, last: bool) -> None:
        """One more token; on the last the answer is whole."""
        index = self._said
        self._said = index + 1
        if self._writer is not None:
            self._exchange.write(self._event(self._writer, index, last=last))
            if last:
                self._exchange.finish()
        elif last:
            self._exchange.respond(200, self._whole())

    def _event(self, writer: ChunkWriter, index: int, *, last: bool) -> bytes:
        ask, ends = self._ask, self._ending
        opening = writer.role(self._counted(0)) if index == 0 and ask.chat else b""
        whole_token = (index + 1) * WIDTH <= ends.characters
        if whole_token and not last and not ask.continuous_usage:
            return opening + writer.token(piece(ask.key, index))
        text = piece(ask.key, index)[: max(0, ends.characters - index * WIDTH)]
        reason, stop = (ends.reason, ends.stop) if last else (None, None)
        event = opening + writer.counted(text, reason, stop, self._counted(index + 1))
        return event + self._closing(writer) if last else event

    def _closing(self, writer: ChunkWriter) -> bytes:
        ask = self._ask
        if not ask.include_usage:
            return DONE
        return writer.usage(usage(ask.prompt_tokens, self._said)) + DONE

    def _counted(self, completion: int) -> dict[str, Any] | None:
        if not self._ask.continuous_usage:
            return None
        return usage(self._ask.prompt_tokens, completion) | {"completion_tokens_details": None}

    def _whole(self) -> bytes:
        ask, ends = self._ask, self._ending
        text = text_of(ask.key, self._said)[: ends.characters]
        counted = usage(ask.prompt_tokens, self._said)
        return whole(self._shape, text, ends.reason, ends.stop, counted)
