"""Curves of an experiment: points of laws, measured with each seed, stored and read again."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.reproduce.curve import Curve, Line, Shade, line, mean_in, points
from loadtest.reproduce.document import document_of, read
from loadtest.reproduce.plan import Plan, measure
from loadtest.reproduce.series import Series
from loadtest.reproduce.table import Reproduction

CURVE = Curve(
    case="burst",
    measure="limit",
    unit="tasks",
    along="s",
    x=(0.0, 1.0),
    lines=(
        Line("reference law", (Series((1.0, 2.0)), Series((3.0, math.inf)))),
        Line("", (Series((4.0, 4.0)), Series((5.0, 5.0))), "no control"),
    ),
    shades=(Shade(0.5, 1.0, "burst"),),
)


def test_a_curve_is_stored_with_every_seed_and_read_as_it_was() -> None:
    document = document_of("congestion", Plan((1, 2)), Reproduction((), (), (CURVE,)))
    assert document["curves"][0]["lines"][0]["values"] == [[1.0, 2.0], [3.0, None]]
    stored = json.loads(json.dumps(document, allow_nan=False))
    assert read(stored).curves == (CURVE,)


def test_a_result_of_before_there_were_curves_has_none() -> None:
    document = document_of("congestion", Plan((1, 2)), Reproduction((), ()))
    assert "curves" not in document
    assert read(document).curves == ()


def _run(seed: int) -> dict[str, float]:
    return points("limit", [seed, 10.0 * seed, math.inf])


def test_the_points_that_runs_give_are_the_lines_points() -> None:
    found = line("corrected law", measure(Plan((1, 2)), _run), "limit", 3)
    assert found.points == (Series((1.0, 2.0)), Series((10.0, 20.0)), Series((math.inf, math.inf)))


@given(
    st.lists(st.tuples(st.floats(0.0, 29.9), st.floats(-1e3, 1e3)), max_size=40),
)
def test_a_mean_between_edges_is_of_those_between_them(
    timed: list[tuple[float, float]],
) -> None:
    edges = (0.0, 10.0, 20.0, 30.0)
    found = mean_in([at for at, _ in timed], [value for _, value in timed], edges)
    for place, mean in enumerate(found):
        inside = [value for at, value in timed if edges[place] <= at < edges[place + 1]]
        if inside:
            assert mean == pytest.approx(sum(inside) / len(inside), abs=1e-9)
        else:
            assert math.isinf(mean)


def test_a_line_has_a_point_at_each_x_and_a_curve_is_no_longer_than_a_figure() -> None:
    with pytest.raises(ValueError, match="a point at every x"):
        Curve(case="", measure="", unit="", along="s", x=(0.0,), lines=(CURVE.lines[0],))
    with pytest.raises(ValueError, match="1 to 120 points, not 121"):
        Curve(case="", measure="", unit="", along="s", x=tuple(range(121)), lines=())
