"""Attainment over offered by length of prompt: every request in exactly one row."""

from __future__ import annotations

from measurement.bands import BandRow, rows
from measurement.column_builder import columns_of
from measurement.judgements import Judgements
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.slo import Slo
from tests.measurement.builders import answered, failed, slo


def rows_of(samples: list[Sample], under: Slo | None) -> tuple[BandRow, ...]:
    columns = columns_of(samples)
    return rows(columns, Judgements.of(columns, under))


def test_the_slos_own_bands_cut_the_rows_and_hold_them_to_their_thresholds() -> None:
    under = slo(bands=[{"prompt_tokens_over": 1_000, "ttft_ms": 2_000}])
    slow = {"first_token_at": 1.5, "last_token_at": 2.0, "done_at": 2.0}
    found = rows_of(
        [
            answered(0, prompt_tokens=1_000, **slow),
            answered(1, prompt_tokens=1_001, **slow),
            failed(Outcome.HTTP_5XX, 2, prompt_tokens=5_000),
            failed(Outcome.CONNECT, 3),
        ],
        under,
    )
    assert [(row.over, row.up_to, row.offered) for row in found] == [
        (0, 1_000, 1),
        (1_000, None, 2),
        (None, None, 1),
    ]
    assert [row.joint.value for row in found] == [0.0, 0.5, 0.0]


def test_without_bands_the_usual_lengths_stand_and_empty_rows_are_left_out() -> None:
    found = rows_of([answered(0, prompt_tokens=256), answered(1, prompt_tokens=0)], None)
    assert [(row.over, row.up_to, row.offered) for row in found] == [(0, 256, 2)]
    assert found[0].to_json()["attainment"] == 1.0
