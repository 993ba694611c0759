"""Azure's inference traces of 2023, 2024 and 2025: times and lengths, no text."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import ClassVar

from loadtest.traces.base import Traced, trace_format


@trace_format
class Azure:
    name: ClassVar[str] = "azure"
    summary: ClassVar[str] = "csv of AzurePublicDataset: TIMESTAMP, ContextTokens, GeneratedTokens"

    @staticmethod
    def recognises(first_line: str) -> bool:
        return {"TIMESTAMP", "ContextTokens", "GeneratedTokens"} <= set(
            first_line.strip().lstrip("\ufeff").split(",")
        )

    @staticmethod
    def read(lines: Iterable[str]) -> Iterator[Traced]:
        for row in csv.DictReader(line.lstrip("\ufeff") for line in lines):
            yield Traced(
                _seconds(row["TIMESTAMP"]),
                int(row["ContextTokens"]),
                int(row["GeneratedTokens"]),
            )


def _seconds(text: str) -> float:
    """Seven decimals, with or without a zone; what has none is read as UTC."""
    text = text.strip()
    zone = ""
    if text[-6:-5] in ("+", "-"):
        text, zone = text[:-6], text[-6:]
    return datetime.fromisoformat(text[:26] + (zone or "+00:00")).astimezone(UTC).timestamp()
