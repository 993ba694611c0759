"""Reading a page without eyes for charts, without a mouse, on a phone, and in the dark."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.front import pages
from tests.front.conftest import Open
from tests.front.fake import Fake
from tests.front.story import COHORTS, PREVIEW, STEP, Story

pytestmark = pytest.mark.browser

PATH = f"/runs/{pages.RUN}/"
MIXED = (("running", "pass"), ("done", "fail"), ("done", "pass"), ("lost", "none"))


@pytest.fixture(scope="module")
def story() -> Story:
    return Story()


@pytest.fixture
def page(fake: Fake, open_page: Open, story: Story) -> Page:
    fake.pages[PATH] = pages.run_page(story, seq=story.seconds)
    fake.backfill = lambda since: story.frame(story.seconds, since=since)
    page = open_page(PATH)
    page.locator("#figure-ttft .legend b", has_text="ms").first.wait_for()
    return page


def p99(story: Story, row: int) -> str:
    return f"{story.cohorts[row][COHORTS.index('ttft_p99')]:,.0f} ms"


def test_arrow_keys_move_the_cursor_and_its_values_are_read_out(page: Page, story: Story) -> None:
    figure = page.locator("#figure-ttft")
    figure.locator(".plot").focus()
    page.keyboard.press("ArrowLeft")
    last = len(story.cohorts) - 1
    assert figure.locator(".legend b").nth(2).inner_text() == p99(story, last)
    page.keyboard.press("Shift+ArrowLeft")
    assert figure.locator(".legend b").nth(2).inner_text() == p99(story, last - 10)
    at = (last - 10) * STEP
    figure.locator("[aria-live]", has_text=f"{at // 60}:{at % 60:02d}:").wait_for(state="attached")
    assert f"P99 {p99(story, last - 10)}" in figure.locator("[aria-live]").inner_text()
    page.keyboard.press("Home")
    assert figure.locator(".legend b").nth(2).inner_text() == p99(story, 0)


def test_without_a_cursor_the_newest_closed_cohort_is_read_out(page: Page, story: Story) -> None:
    closed = [row for row in range(len(story.cohorts)) if not story.cohorts[row][1]]
    assert closed[-1] < len(story.cohorts) - 1
    figure = page.locator("#figure-ttft")
    assert figure.locator(".legend b").nth(2).inner_text() == p99(story, closed[-1])
    figure.locator(".plot").focus()
    page.keyboard.press("End")
    assert figure.locator(".legend b").nth(2).inner_text() == p99(story, len(story.cohorts) - 1)
    page.keyboard.press("Escape")
    assert figure.locator(".legend b").nth(2).inner_text() == p99(story, closed[-1])
    flying = page.locator("#figure-in_flight .legend b").first
    assert flying.inner_text() == f"{story.events[-1][1]:.1f}"


def test_while_every_cohort_is_open_none_is_read_out(
    fake: Fake, open_page: Open, story: Story
) -> None:
    frame = story.frame(30)
    frame["cohorts"]["rows"] = [[row[0], 1, *row[2:]] for row in frame["cohorts"]["rows"]]
    fake.pages[PATH] = pages.run_page(story, seq=30, first=False)
    fake.backfill = lambda _since: frame
    page = open_page(PATH)
    page.locator("#figure-in_flight .legend b", has_text=".").first.wait_for()
    assert page.locator("#figure-ttft .legend b").all_inner_texts() == ["–"] * 3


def test_a_percentile_of_too_few_is_grey_in_the_read_out(
    fake: Fake, open_page: Open, story: Story
) -> None:
    frame = story.frame(story.seconds)
    frame["cohorts"]["rows"] = [[*row[:2], 71, *row[3:]] for row in frame["cohorts"]["rows"]]
    fake.pages[PATH] = pages.run_page(story, seq=30, first=False)
    fake.backfill = lambda _since: frame
    page = open_page(PATH)
    page.locator("#figure-ttft .legend b", has_text="ms").first.wait_for()
    for name in ("ttft", "tpot", "e2e"):
        weak = page.locator(f"#figure-{name} .legend b").evaluate_all(
            "all => all.map((one) => one.classList.contains('weak'))"
        )
        assert weak == [False, True, True]


def test_figures_share_one_cursor(page: Page, story: Story) -> None:
    page.locator("#figure-ttft .plot").focus()
    page.keyboard.press("Home")
    loads = page.locator("#figure-load .legend b").first
    assert loads.inner_text() == f"{story.cohorts[0][COHORTS.index('offered_rps')]:.1f} /s"


def test_the_table_behind_a_figure_holds_the_same_values(page: Page, story: Story) -> None:
    figure = page.locator("#figure-ttft")
    figure.get_by_role("button", name="Table").click()
    rows = figure.locator("tbody tr")
    assert rows.count() == len(story.cohorts)
    assert rows.nth(41).locator("td").all_inner_texts()[3] == p99(story, 41)
    assert figure.locator(".plot").is_hidden()
    figure.get_by_role("button", name="Chart").click()
    assert figure.locator(".plot").is_visible()


def test_a_log_scale_is_one_key_away_and_keys_can_be_turned_off(page: Page) -> None:
    pressed = page.locator('#scale [aria-pressed="true"]')
    page.get_by_role("button", name="Colour theme").focus()
    page.keyboard.press("l")
    assert pressed.inner_text() == "Log"
    page.evaluate("localStorage.setItem('headway.shortcuts', 'off')")
    page.keyboard.press("l")
    assert pressed.inner_text() == "Log"
    page.evaluate("localStorage.clear()")


def test_the_list_of_keys_opens_and_closes(page: Page) -> None:
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    assert "Pause or resume" in dialog.inner_text()
    page.keyboard.press("Escape")
    assert dialog.count() == 0


def test_a_theme_that_was_chosen_outlives_the_page(fake: Fake, page: Page) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Colour theme").click()
    page.get_by_role("button", name="Colour theme").click()
    assert page.evaluate(background) != light
    assert {"name": "theme", "value": "dark"}.items() <= page.context.cookies()[0].items()
    assert "dark" in pages.rendered("404.html", "/", {}, theme="dark").split("<head>")[0]


def test_cancelling_asks_first_and_the_safe_answer_has_the_focus(page: Page) -> None:
    page.get_by_role("button", name="Cancel run").click()
    dialog = page.locator("dialog#cancel")
    assert "chat-steady v14 on qwen3-32b-eu" in dialog.inner_text()
    assert page.evaluate("document.activeElement.textContent") == "Keep running"
    page.keyboard.press("Enter")
    assert not dialog.is_visible()


def test_a_decision_in_the_lane_picks_its_row(page: Page) -> None:
    page.locator('.ev[data-kind="undo"]').click()
    chosen = page.locator('#decisions tr[aria-selected="true"]')
    assert chosen.locator(".mono").inner_text() == "undo"


@pytest.mark.parametrize("name", ["run", "launch", "list", "list-empty", "home", "home-empty"])
def test_nothing_is_wider_than_the_screen(
    fake: Fake, open_page: Open, story: Story, name: str
) -> None:
    fake.preview = lambda: (200, PREVIEW)
    fake.backfill = lambda since: story.frame(story.seconds, since=since)
    path, html = {
        "run": (PATH, pages.run_page(story, seq=story.seconds)),
        "launch": ("/runs/new/", pages.launch_page()),
        "list": ("/runs/", pages.list_page(pages.rows(*MIXED))),
        "list-empty": ("/runs/", pages.list_page([])),
        "home": ("/", pages.home_page(pages.rows(*MIXED))),
        "home-empty": ("/", pages.home_page([])),
    }[name]
    fake.pages[path] = html
    page = open_page(path)
    for width in (1440, 768, 390):  # a window made smaller: figures shrink with it
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_control_has_a_name(page: Page) -> None:
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('button, a, input, select, summary, [role=group]')]
        .filter((e) => e.checkVisibility() && !e.labels?.length)
        .filter((e) => !e.textContent.trim() && !e.getAttribute('aria-label'))
        .map((e) => e.outerHTML.slice(0, 120))"""
    )
    assert unnamed == []


HEADS = """() => [...document.querySelectorAll('#tiles h3')].map((head) => {
  const [title] = head.children;
  return [title.scrollWidth <= title.clientWidth, head.clientHeight < 25];
})"""


@pytest.mark.parametrize(("width", "one_line"), [(390, 0), (680, 0), (1280, 1), (1440, 1)])
def test_no_title_of_a_tile_is_cut(
    fake: Fake, open_page: Open, story: Story, width: int, one_line: int
) -> None:
    frame = story.frame(story.seconds)
    longest = [one | {"status": "warn" if one["target"] else "none"} for one in frame["tiles"]]
    fake.pages[PATH] = pages.run_page(story, seq=30, first=False)
    fake.backfill = lambda _since: frame | {"tiles": longest}
    page = open_page(PATH, width=width)
    page.locator("#tiles .state", has_text="not sure yet").nth(2).wait_for()
    heads = page.evaluate(HEADS)
    assert len(heads) == 6
    assert all(whole and (flat or not one_line) for whole, flat in heads)
