"""The search for capacity: what it finds holds, what is above does not, and options matter."""

from __future__ import annotations

import pytest

from documents.parse import build
from documents.problem import DocumentError
from headway.__main__ import main
from loadtest.builtin import SLOS
from loadtest.capacity import Search, attainment, capacity, grid
from loadtest.workloads.base import workloads
from measurement.slo import Slo
from simulator import profile as profiles

PROFILE = profiles.load("qwen3-32b-h100-tp2")
WORKLOAD = build(workloads.get("fixed"), {"prompt_tokens": 2000, "output_tokens": 100})
SEARCH = Search(PROFILE, WORKLOAD, Slo.parse(SLOS["chat-interactive"]), duration=30.0)


def test_the_rate_found_meets_the_target_and_a_tenth_more_does_not() -> None:
    found = capacity(SEARCH, {})
    assert found.rate > 1
    config = PROFILE.config()
    assert attainment(SEARCH, config, found.rate) == found.attainment >= 0.99
    assert attainment(SEARCH, config, 1.1 * found.rate) < 0.99


def test_fewer_sequences_serve_less() -> None:
    few, many = (capacity(SEARCH, {"max_seqs": count}).rate for count in (2, 256))
    assert few < many / 2


def test_options_that_make_no_engine_are_told() -> None:
    found = capacity(SEARCH, {"batching.token_budget": 8})
    assert (found.rate, "could starve" in found.refused) == (0.0, True)


def test_a_grid_has_every_combination_of_known_options() -> None:
    assert len(list(grid({"max_seqs": [1, 2], "blocks": [3, 4, 5]}))) == 6
    assert list(grid({})) == [{}]
    with pytest.raises(DocumentError, match="can't be searched; known: batching"):
        list(grid({"t0_ms": [1]}))


def test_the_command_tells_the_best_first(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["optimise", "--workload", "fixed-64", "--duration", "10s"]
    assert main([*words, "--over", "max_seqs=4..16"]) == 0
    _, *rows, label = capsys.readouterr().out.splitlines()
    assert [row.split()[-1] for row in rows] == ["max_seqs=16", "max_seqs=8", "max_seqs=4"]
    assert label.startswith("A model, not a measurement: profile qwen3-32b-h100-tp2")
    for wrong in ("max_seqs", "max_seqs=9..3", "nope=1"):
        assert main([*words, "--over", wrong]) == 20
        assert "headway optimise: over" in capsys.readouterr().err
