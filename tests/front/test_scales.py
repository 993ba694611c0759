"""Where ticks stand: the arithmetic of the axes and of the table of rows, asked in the browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.front.fake import Fake

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One for all: what is asked of it is arithmetic, and leaves nothing behind."""
    with Fake() as fake:
        fake.pages["/"] = "<!doctype html><title>Arithmetic</title>"
        page = browser.new_page()
        page.goto(f"{fake.origin}/")
        yield page
        page.close()


@pytest.fixture
def ask(page: Page) -> Any:
    def ask(module: str, body: str) -> Any:
        return page.evaluate(
            f"async () => {{ const m = await import('/static/js/{module}'); {body} }}"
        )

    return ask


def test_an_axis_has_round_ticks_and_room_for_what_it_shows(ask: Any) -> None:
    axis = ask("chart/scales.js", "return m.valueAxis([3, 183], { min: 0 }, false, 4);")
    assert axis == {"low": 0, "high": 200, "ticks": [0, 50, 100, 150, 200]}
    cut = ask("chart/scales.js", "return m.valueAxis([94.2, 100], { max: 100 }, false, 4);")
    assert cut["ticks"] == [94, 96, 98, 100]


@pytest.mark.parametrize("found", ["[100, 100]", "[0, 100]", "[97.3, 130]", "[7, 99]", "null"])
@pytest.mark.parametrize("ticks", [3, 4])
@pytest.mark.parametrize("wanted", ["{ max: 100 }", "{ min: 0, max: 100 }"])
def test_an_axis_never_goes_above_its_figures_maximum(
    ask: Any, found: str, ticks: int, wanted: str
) -> None:
    axis = ask("chart/scales.js", f"return m.valueAxis({found}, {wanted}, false, {ticks});")
    assert axis["low"] < axis["high"] == 100
    assert axis["low"] <= axis["ticks"][0] < axis["ticks"][-1] <= 100


def test_an_axis_of_nothing_but_its_maximum_shows_what_lies_below(ask: Any) -> None:
    axis = ask("chart/scales.js", "return m.valueAxis([100, 100], { max: 100 }, false, 4);")
    assert axis == {"low": 94, "high": 100, "ticks": [94, 96, 98, 100]}
    log = ask("chart/scales.js", "return m.valueAxis([30, 90], { max: 95 }, true, 4);")
    assert log["high"] == 95


def test_a_level_alone_is_drawn_from_nothing(ask: Any) -> None:
    axis = ask("chart/scales.js", "return m.valueAxis([500, 500], {}, false, 4);")
    assert axis["low"] == 0
    assert 500 < axis["high"] <= 600


def test_a_log_axis_ends_at_ticks(ask: Any) -> None:
    axis = ask("chart/scales.js", "return m.valueAxis([26, 60], { min: 0 }, true, 4);")
    assert axis == {"low": 20, "high": 100, "ticks": [20, 50, 100]}


def test_an_axis_of_one_value_or_of_none_still_has_a_height(ask: Any) -> None:
    for found in ("[0, 0]", "[5, 5]", "null"):
        for log in ("true", "false"):
            axis = ask("chart/scales.js", f"return m.valueAxis({found}, {{ min: 0 }}, {log}, 4);")
            assert axis["high"] > axis["low"]


def test_ticks_of_time_fall_on_whole_steps(ask: Any) -> None:
    body = "return [m.timeTicks([0, 8], 400), m.timeTicks([130, 1200], 400)];"
    assert ask("chart/scales.js", body) == [[0, 2, 4, 6, 8], [300, 600, 900, 1200]]


def test_rows_stay_in_order_are_replaced_and_show_their_gaps(ask: Any) -> None:
    body = """
    const table = new m.Table(["t", "v"]);
    table.take({ step: 1, rows: [[0, 1], [1, 2], [5, 6], [3, 4], [1, 20]] });
    return { t: table.t, v: table.column("v"), none: table.column("w"), end: table.end,
             gaps: table.gaps([table.column("v")]) };
    """
    assert ask("store.js", body) == {
        "t": [0, 1, 3, 5],
        "v": [1, 20, 4, 6],
        "none": [None] * 4,
        "end": 6,
        "gaps": [{"from": 1, "to": 3}, {"from": 3, "to": 5}],
    }


def test_a_column_of_nulls_between_numbers_is_a_gap(ask: Any) -> None:
    body = """
    const table = new m.Table(["t", "v"]);
    table.take({ step: 2, rows: [[0, 1], [2, null], [4, null], [6, 3], [8, null]] });
    return table.gaps([table.column("v")]);
    """
    assert ask("store.js", body) == [{"from": 0, "to": 6}]


def test_numbers_are_written_as_everywhere(ask: Any) -> None:
    numbers = "m.num(31905), m.num(-0.38, 2), m.num(-0.001, 1), m.num(null)"
    body = f"return [{numbers}, m.clock(3725), m.age(0.84)];"
    assert ask("numbers.js", body) == ["31,905", "−0.38", "0.0", "–", "1:02:05", "0.8 s"]
