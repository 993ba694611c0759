"""The launch form draws the load before anything is sent, and faults stand beside their fields."""

from __future__ import annotations

import pytest

from tests.front import pages
from tests.front.conftest import Open
from tests.front.fake import Fake
from tests.front.story import PREVIEW

pytestmark = pytest.mark.browser


@pytest.fixture
def form(fake: Fake) -> Fake:
    fake.pages["/runs/new/"] = pages.launch_page()
    fake.preview = lambda: (200, PREVIEW)
    return fake


def test_the_load_is_drawn_before_it_runs(form: Fake, open_page: Open) -> None:
    page = open_page("/runs/new/")
    page.get_by_text("1,213 requests in 1:00: 612,803 prompt tokens").wait_for()
    counts = page.evaluate(
        """async () => { const { charts } = await import("/static/js/chart.js");
        return charts.get(document.getElementById("preview-prompt")).data.columns[0]; }"""
    )
    assert counts == [bar["count"] for bar in PREVIEW["prompt_lengths"]]


WRITTEN = """(() => {
  window.written = [];
  const fill = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
    window.written.push(text);
    return fill.call(this, text, ...at);
  };
})()"""


@pytest.mark.parametrize(("longest", "labelled"), [(2_802, True), (979, False)])
def test_the_bar_of_all_that_lies_beyond_the_axis_says_so(
    form: Fake, open_page: Open, longest: int, labelled: bool
) -> None:
    *bars, last = PREVIEW["prompt_lengths"]
    form.preview = lambda: (200, PREVIEW | {"prompt_lengths": [*bars, last | {"high": longest}]})
    page = open_page("/runs/new/")
    page.add_init_script(WRITTEN)
    page.goto(f"{form.origin}/runs/new/")
    figure = page.locator("#preview-prompt")
    figure.get_by_text(f"longest {longest:,}").wait_for()
    page.wait_for_timeout(100)
    assert ("940 and more" in page.evaluate("window.written")) is labelled
    figure.get_by_role("button", name="Table").click()
    row = figure.locator("tbody tr").last.locator("td").first
    assert row.inner_text() == ("940 and more" if labelled else "940")


def test_a_change_is_drawn_and_a_fault_stands_beside_its_field(form: Fake, open_page: Open) -> None:
    page = open_page("/runs/new/")
    page.get_by_text("1,213 requests").first.wait_for()
    form.preview = lambda: (422, {"errors": {"rate": ["Must be at least 0.01."]}})
    page.get_by_label("Rate", exact=True).fill("0")
    field = page.locator("#id_rate_field")
    field.get_by_text("Must be at least 0.01.").wait_for()
    assert page.get_by_label("Rate", exact=True).get_attribute("aria-invalid") == "true"
    assert "marked in red" in page.locator("#preview-said").inner_text()
    form.preview = lambda: (200, PREVIEW | {"requests": 60})
    page.get_by_label("Rate", exact=True).fill("1")
    page.get_by_text("60 requests in 1:00").wait_for()
    assert field.locator(".err").count() == 0


def test_fields_of_another_arrival_process_are_hidden(form: Fake, open_page: Open) -> None:
    page = open_page("/runs/new/")
    assert page.locator("#id_concurrency_field").is_hidden()
    form.preview = lambda: (200, PREVIEW | {"requests": None, "concurrency": 8, "rate": []})
    page.get_by_label("Arrivals").select_option("closed")
    assert page.locator("#id_rate_field").is_hidden()
    assert page.locator("#id_concurrency_field").is_visible()
    page.get_by_text("A closed loop: 8 slots").wait_for()


def test_a_form_that_was_refused_lists_what_to_put_right_and_has_the_focus(
    fake: Fake, open_page: Open
) -> None:
    fake.pages["/runs/new/"] = pages.launch_page({"process": "poisson", "rate": ""})
    fake.preview = lambda: (422, {"errors": {"rate": ["This field is required."]}})
    page = open_page("/runs/new/")
    assert "5 things to put right" in page.evaluate("document.activeElement.textContent")
    page.get_by_role("alert").get_by_role("link", name="Rate").click()
    assert page.evaluate("document.activeElement.id") == "id_rate"


def test_a_server_that_is_gone_is_said(form: Fake, open_page: Open) -> None:
    form.preview = lambda: (500, {})
    page = open_page("/runs/new/")
    page.get_by_text("The preview could not be drawn: HTTP 500").wait_for()
