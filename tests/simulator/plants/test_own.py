"""A plant of one's own: read strictly, played like a listed one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from documents.problem import DocumentError
from schedulers.concurrency.base import ConcurrencyLaw, laws
from simulator.plants.own import load, parse

PLANT: dict[str, Any] = {
    "capacity": 10,
    "knee": 12,
    "reject_at": 20,
    "base_s": 1.0,
    "top_s": 6.0,
    "work": {"dist": "gamma", "shape": 4},
    "tasks": 300,
}


def ten(*, initial: int | None = None) -> ConcurrencyLaw[Any]:
    cls: Any = laws.get("fixed")
    law: ConcurrencyLaw[Any] = cls(size=10)
    return law


def test_it_plays_at_its_own_optimum() -> None:
    seen = parse(PLANT).play(ten, 1)
    assert seen["optimum"] == 10.0
    assert seen["attained"] > 0.9
    assert (seen["refused"], seen["limit"]) == (0, 10)


def test_steps_are_played_in_order_of_time() -> None:
    low = {"at_s": 10, "capacity": 5, "knee": 10, "reject_at": 20}
    high = {"at_s": 20, "capacity": 10}
    slowed = parse(PLANT | {"steps": [high, low]}).play(ten, 1)
    assert slowed["seconds"] - parse(PLANT).play(ten, 1)["seconds"] == pytest.approx(5.0, abs=1.0)


def test_arrivals_bound_the_optimum() -> None:
    own = {key: value for key, value in PLANT.items() if key != "tasks"}
    seen = parse(own | {"arrivals": {"rate": 4.0, "duration_s": 60}}).play(ten, 1)
    assert seen["optimum"] == 4.0
    assert 0.8 < seen["attained"] < 1.2


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"capcity": 3}, "did you mean 'capacity'"),
        ({"knee": 9}, "capacity ≤ knee < reject_at"),
        ({"work": {"dist": "pareto"}}, "work.dist"),
        ({"arrivals": {"rate": 1, "duration_s": 1}}, "excludes tasks"),
        ({"steps": [{"at_s": 5, "capacity": 13}]}, "steps[0].knee"),
        ({"steps": {"at_s": 5}}, "must be a list"),
        ({"tasks": 0}, "tasks"),
    ],
)
def test_a_wrong_file_is_told_what_is_wrong(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(DocumentError) as refused:
        parse(PLANT | wrong)
    assert told in str(refused.value)


def test_an_endless_plant_is_refused() -> None:
    with pytest.raises(DocumentError, match="or arrivals, or end_s"):
        parse({"capacity": 10})


@pytest.mark.parametrize("text", ["- a list", "a: [", "7"])
def test_a_file_that_is_no_mapping_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "plant.yaml"
    path.write_text(text)
    with pytest.raises(DocumentError):
        load(str(path))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="can't be read"):
        load(str(tmp_path / "none.yaml"))
