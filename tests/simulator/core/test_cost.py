"""The step-time equation as a reader would check it by hand."""

from __future__ import annotations

import pytest

from simulator.core.cost import GraphSizes, StepCost

COST = StepCost(t0_ms=2.0, t_w_ms=3.0, t_c_ms=0.5, t_kv_ms=0.01, t_s_ms=0.1, t_a_ms=0.001)


@pytest.mark.parametrize(
    ("load", "milliseconds"),
    [
        pytest.param((0, 0, 0, 0.0), 2.0 + 3.0, id="weights are read whatever the batch"),
        pytest.param((8, 0, 0, 0.0), 2.0 + 5.0, id="weights and matrices meet as a hypotenuse"),
        pytest.param((0, 300, 0, 0.0), 5.0 + 3.0, id="context that decodes read"),
        pytest.param((0, 0, 7, 0.0), 5.0 + 0.7, id="host work for each sequence"),
        pytest.param((0, 0, 0, 4000.0), 5.0 + 4.0, id="attention pairs of prefills"),
    ],
)
def test_each_term_of_the_equation(load: tuple[int, int, int, float], milliseconds: float) -> None:
    assert COST.seconds(*load) == pytest.approx(milliseconds / 1e3)


@pytest.mark.parametrize(
    ("tokens", "runs_as"),
    [(1, 1), (3, 4), (5, 8), (9, 16), (248, 248), (249, 256), (257, 272), (512, 512), (513, 513)],
)
def test_decodes_run_as_the_next_captured_graph(tokens: int, runs_as: int) -> None:
    assert GraphSizes(max_seqs=1024).padded(tokens) == runs_as


def test_no_graph_is_captured_beyond_twice_the_sequences() -> None:
    assert GraphSizes(max_seqs=8).sizes == (1, 2, 4, 8, 16)
    assert GraphSizes(max_seqs=8).padded(17) == 17
