"""The catalogue's pages on a phone: long hashes and names break, nothing scrolls sideways."""

from __future__ import annotations

import pytest

from tests.front import catalogue
from tests.front.conftest import Open
from tests.front.fake import Fake

pytestmark = pytest.mark.browser

LINES = """() => [...document.querySelectorAll('td[data-l="When"]')].map((cell) => {
  const style = getComputedStyle(cell, '::before');
  return [parseFloat(style.width) > 20, cell.getBoundingClientRect().height < 40];
})"""


def test_no_page_of_the_catalogue_is_wider_than_a_phone(fake: Fake, open_page: Open) -> None:
    fake.pages |= {f"/{name}": html for name, html in catalogue.every().items()}
    page = open_page("/policy", width=390)
    wide = {}
    for name in catalogue.every():
        page.goto(f"{fake.origin}/{name}")
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > 390:
            wide[name] = width
    assert wide == {}


@pytest.mark.parametrize("width", [320, 390])
def test_the_label_of_a_versions_time_stands_on_one_line(
    fake: Fake, open_page: Open, width: int
) -> None:
    fake.pages["/"] = catalogue.line_page("slo", may_write=True)
    assert open_page("/", width=width).evaluate(LINES) == [[True, True]] * 3
