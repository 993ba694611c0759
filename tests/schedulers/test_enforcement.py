"""Who enforces what: every place answers for every point, and says why where it does nothing."""

from __future__ import annotations

import pytest

from schedulers.builtin import builtin
from schedulers.decision import DecisionPoint
from schedulers.enforcement import Host, Mode, enforcement, explain

E, R, N = Mode.ENFORCED, Mode.RENDERED, Mode.NOT_ENFORCED


@pytest.mark.parametrize(
    ("point", "modes"),
    [
        (DecisionPoint.CONCURRENCY, (E, E, E, N)),
        (DecisionPoint.ADMISSION, (E, E, E, R)),
        (DecisionPoint.ORDERING, (E, E, E, R)),
        (DecisionPoint.BATCHING, (E, N, N, R)),
        (DecisionPoint.PREEMPTION, (E, N, N, R)),
        (DecisionPoint.RETRY, (E, E, E, N)),
    ],
)
def test_each_place_says_what_it_enforces_now(
    point: DecisionPoint, modes: tuple[Mode, ...]
) -> None:
    cells = [enforcement(point, host) for host in Host]
    assert tuple(cell.mode for cell in cells) == modes
    assert [cell.acts for cell in cells] == [mode is not N for mode in modes]
    assert all(cell.why.endswith(".") for cell in cells)


def test_a_policy_is_explained_by_the_points_that_it_fills() -> None:
    (cell,) = explain(builtin("fixed-32"), "real_engine")
    assert (cell.point, cell.host, cell.acts) == ("concurrency", "real_engine", False)
    with pytest.raises(ValueError, match="moon"):
        explain(builtin("fixed-32"), "moon")
