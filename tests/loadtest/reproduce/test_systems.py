"""The source systems at reduced size: what the docs page says of each must hold of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loadtest.reproduce import retry_storm
from loadtest.reproduce.plan import Plan
from loadtest.reproduce.systems.base import systems

PAGE = Path(__file__).parents[3] / "docs" / "source-systems.md"
REDUCED = Plan((1,), reduced=True)


@pytest.mark.parametrize("name", systems.all())
def test_every_sentence_about_a_system_is_supported_by_its_numbers(name: str) -> None:
    result = systems.get(name)().play(REDUCED)
    assert [finding.sentence for finding in result.findings if not finding.holds] == []
    assert len(result.findings) >= 3
    for column in ("claimed", "reference", "corrected", "best_fixed", "optimum"):
        if (name, column) != ("agents", "optimum"):  # nobody knows an optimum of that plant
            assert any(getattr(row, column) is not None for row in result.rows), column


@pytest.mark.parametrize("name", systems.all())
def test_each_system_has_its_part_of_the_page_with_the_laws_that_it_plays(name: str) -> None:
    text = PAGE.read_text("utf-8")
    part = re.search(rf"^## {name}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert part is not None
    words = re.sub(r"\s+", " ", part[1])
    cls = systems.get(name)
    assert cls.summary in words
    assert cls.laws in words


def test_the_same_seeds_give_the_same_numbers() -> None:
    first, second = (retry_storm.play(REDUCED) for _ in range(2))
    assert first == second
    assert first != retry_storm.play(Plan((2,), reduced=True))
