"""The samples of a load test of ours, as a trace: what was sent when, and how it was answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import msgspec

from loadtest.traces.base import Measured, Traced, trace_format
from measurement.sample import Sample

_decode = msgspec.json.Decoder(Sample).decode


@trace_format
class Samples:
    name: ClassVar[str] = "samples"
    summary: ClassVar[str] = "samples.jsonl of a run's directory; requests that failed are left out"

    @staticmethod
    def recognises(first_line: str) -> bool:
        return '"intended_at"' in first_line and '"outcome"' in first_line

    @staticmethod
    def read(lines: Iterable[str]) -> Iterator[Traced]:
        for text in lines:
            sample = _decode(text)
            ttft, e2e = sample.service_ttft, sample.service_e2e
            if sample.sent_at is None or ttft is None or e2e is None:
                continue
            yield Traced(
                sample.sent_at,
                sample.prompt_tokens or 0,
                sample.output_tokens or 0,
                measured=Measured(ttft, e2e),
            )
