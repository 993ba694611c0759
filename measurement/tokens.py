"""Token totals, where they came from, and what to say when two sources disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from measurement.outcome import TokenSource
from measurement.sample import Sample

DISAGREEMENT = 0.02


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the requests asked with and what they got. None where nobody said."""

    prompt: int | None = None
    output: int | None = None
    """Tokens received, those of requests that failed later included."""
    sources: Mapping[str, int] = field(default_factory=dict)
    """Requests by the source of their output count."""
    note: str = ""

    @property
    def source(self) -> str | None:
        """The one source of all counts; "mixed" of several."""
        return "mixed" if len(self.sources) > 1 else next(iter(self.sources), None)

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Tokens:
        """The totals of these samples."""
        return cls(
            prompt=_sum([s.prompt_tokens for s in samples]),
            output=_sum([s.output_tokens for s in samples]),
            sources=dict(Counter(str(s.token_source) for s in samples if s.token_source)),
            note=_note(samples),
        )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _note(samples: Sequence[Sample]) -> str:
    """A sentence when the stream's own count is over 2 % from the count that is reported.

    Chunks are the stream's count where it does not say more; tokens that share a chunk show here.
    """
    told = [s for s in samples if s.token_source not in (None, TokenSource.CHUNKS) and s.chunks]
    reported = sum(s.output_tokens or 0 for s in told)
    streamed = sum(_streamed(s) for s in told)
    if not reported or abs(streamed - reported) <= DISAGREEMENT * reported:
        return ""
    other = "continuous usage" if all(s.gap_tokens is not None for s in told) else "chunks"
    return (
        f"Token sources disagree: {reported:,} tokens by {_names(told)}, {streamed:,} by {other} "
        f"({100 * (streamed - reported) / reported:+.1f} %); the first is used."
    )


def _streamed(sample: Sample) -> int:
    if sample.gap_tokens is None:
        return sample.chunks
    return (sample.first_chunk_tokens or 1) + sum(sample.gap_tokens)


def _names(samples: Sequence[Sample]) -> str:
    names = sorted({str(sample.token_source) for sample in samples})
    return " and ".join(name.replace("_", " ") for name in names)
