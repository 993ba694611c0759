"""Mooncake's traces: lengths, and the names of each prompt's blocks of 512 tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import msgspec

from loadtest.traces.base import Traced, trace_format

BLOCK = 512


class _Line(msgspec.Struct):
    timestamp: float
    input_length: int
    output_length: int
    hash_ids: list[int]


_decode = msgspec.json.Decoder(_Line).decode


@trace_format
class Mooncake:
    name: ClassVar[str] = "mooncake"
    summary: ClassVar[str] = (
        "jsonl: timestamp in ms, input_length, output_length, hash_ids of blocks of 512 tokens"
    )

    @staticmethod
    def recognises(first_line: str) -> bool:
        return '"hash_ids"' in first_line and '"input_length"' in first_line

    @staticmethod
    def read(lines: Iterable[str]) -> Iterator[Traced]:
        for text in lines:
            line = _decode(text)
            yield Traced(
                line.timestamp / 1e3,
                line.input_length,
                line.output_length,
                tuple(line.hash_ids),
                BLOCK,
            )
