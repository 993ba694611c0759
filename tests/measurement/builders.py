"""Samples and SLOs for tests, by hand and by hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from measurement.outcome import Outcome, TokenSource
from measurement.sample import Sample
from measurement.slo import Slo
from measurement.window import Window, WindowFold


def answered(index: int = 0, at: float = 0.0, **changes: Any) -> Sample:
    """A success: sent at once, first token after 0.1 s, five tokens 0.1 s apart."""
    values: dict[str, Any] = {
        "tenant": "acme",
        "outcome": Outcome.OK,
        "handed_at": at,
        "admitted_at": at,
        "sent_at": at,
        "first_token_at": at + 0.1,
        "first_answer_at": at + 0.1,
        "last_token_at": at + 0.5,
        "done_at": at + 0.5,
        "prompt_tokens": 10,
        "output_tokens": 5,
        "token_source": TokenSource.USAGE,
        "first_chunk_tokens": 1,
        "chunks": 5,
        "gaps": (0.1,) * 4,
    }
    return Sample(index=index, intended_at=at, **(values | changes))


def failed(outcome: Outcome, index: int = 0, at: float = 0.0, **changes: Any) -> Sample:
    """A request that was sent and got no token, over after 0.2 s."""
    values: dict[str, Any] = {
        "tenant": "acme",
        "handed_at": at,
        "sent_at": at,
        "done_at": at + 0.2,
    }
    return Sample(index=index, intended_at=at, outcome=outcome, **(values | changes))


def slo(*objectives: dict[str, Any], target: float = 0.99, **spec: Any) -> Slo:
    """An SLO of these objectives; TTFT ≤ 800 ms when none is given."""
    return Slo.parse(
        {
            "apiVersion": "headway/v1",
            "kind": "SLO",
            "metadata": {"name": "chat", "owner": "platform"},
            "spec": {
                "target": target,
                "objectives": list(objectives) or [{"metric": "ttft_ms", "max": 800}],
                **spec,
            },
        }
    )


_gaps = st.lists(st.floats(0, 1), max_size=3)
_times = st.tuples(st.floats(0, 4), st.floats(0, 1), st.floats(0.001, 2))


def _sample(
    index: int,
    times: tuple[float, float, float],
    outcome: Outcome,
    gaps: list[float],
    chance: int,
) -> Sample:
    """``chance`` is bits, each of which leaves something out."""
    at, hold, wait = times
    lacks = [bool(chance >> bit & 1) for bit in range(6)]
    was_sent = outcome.success or not (outcome in (Outcome.SHED, Outcome.DROPPED) or lacks[0])
    tokens = outcome.success or (was_sent and not lacks[1])
    sent, first = at + hold, at + hold + wait
    last = first + sum(gaps)
    carried = tuple(1 + (chance >> bit & 1) for bit in range(len(gaps)))
    return Sample(
        index=index,
        tenant="acme" if lacks[5] else "globex",
        intended_at=at,
        outcome=outcome,
        handed_at=at,
        sent_at=sent if was_sent else None,
        first_token_at=first if tokens else None,
        last_token_at=last if tokens else None,
        done_at=last if tokens else None if lacks[2] else sent,
        prompt_tokens=None if lacks[3] else 1 + 50 * chance,
        output_tokens=1 + sum(carried) if tokens else None,
        token_source=TokenSource.CONTINUOUS_USAGE if tokens else None,
        first_chunk_tokens=1 if tokens else None,
        chunks=1 + len(gaps) if tokens else 0,
        gaps=tuple(gaps) if tokens else (),
        gap_tokens=carried if tokens and not lacks[4] else None,
    )


def sample_lists(most: int = 12) -> st.SearchStrategy[list[Sample]]:
    """Samples of any outcome whose times are in a possible order; null where that may be."""
    row = st.tuples(_times, st.sampled_from(Outcome), _gaps, st.integers(0, 127))
    return st.lists(row, max_size=most).map(
        lambda rows: [_sample(index, *values) for index, values in enumerate(rows)]
    )


def windows_of(samples: list[Sample], under: Slo | None) -> list[Window]:
    """The windows of finished samples."""
    fold = WindowFold(slo=under)
    for sample in samples:
        fold.offered(sample.index, sample.tenant, sample.intended_at)
        fold.resolved(sample)
    return fold.finish(max((sample.intended_at for sample in samples), default=0.0))
