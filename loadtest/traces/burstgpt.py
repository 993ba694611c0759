"""BurstGPT: months of requests to ChatGPT and GPT-4, failures among them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import ClassVar

from loadtest.traces.base import Traced, trace_format


@trace_format
class BurstGpt:
    name: ClassVar[str] = "burstgpt"
    summary: ClassVar[str] = (
        "csv: Timestamp in s, Request tokens, Response tokens; failed rows (no response tokens) "
        "are left out"
    )

    @staticmethod
    def recognises(first_line: str) -> bool:
        return {"Timestamp", "Request tokens", "Response tokens"} <= set(
            first_line.strip().split(",")
        )

    @staticmethod
    def read(lines: Iterable[str]) -> Iterator[Traced]:
        for row in csv.DictReader(lines):
            yield Traced(
                float(row["Timestamp"]),
                int(float(row["Request tokens"])),
                int(float(row["Response tokens"])),
            )
