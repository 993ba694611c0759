"""A log of requests that an engine served, with what it really did: to replay and to fit to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import msgspec

from loadtest.traces.base import Measured, Traced, trace_format


class _Line(msgspec.Struct):
    input_toks: int
    output_toks: int
    arrival_time: float
    queued_ts: float
    first_token_ts: float
    last_token_ts: float


_decode = msgspec.json.Decoder(_Line).decode


@trace_format
class RequestLog:
    """Times of queueing and tokens are monotonic seconds; only their differences are used."""

    name: ClassVar[str] = "request_log"
    summary: ClassVar[str] = (
        "jsonl of one served run: input_toks, output_toks, arrival_time, queued_ts, "
        "first_token_ts, last_token_ts, in seconds"
    )

    @staticmethod
    def recognises(first_line: str) -> bool:
        return '"input_toks"' in first_line and '"first_token_ts"' in first_line

    @staticmethod
    def read(lines: Iterable[str]) -> Iterator[Traced]:
        for text in lines:
            line = _decode(text)
            yield Traced(
                line.arrival_time,
                line.input_toks,
                line.output_toks,
                measured=Measured(
                    line.first_token_ts - line.queued_ts, line.last_token_ts - line.queued_ts
                ),
            )
