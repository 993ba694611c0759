"""The page of a run in a real browser: whatever the socket does, it ends as what was stored."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.front import pages
from tests.front.conftest import Open
from tests.front.fake import Fake
from tests.front.story import COHORTS, EVENTS, Story

pytestmark = pytest.mark.browser

PATH = f"/runs/{pages.RUN}/"
READ = """async (id) => {
  const { charts } = await import("/static/js/chart.js");
  const chart = charts.get(document.getElementById(id));
  return { x: chart.data.x, columns: chart.data.columns, plotted: chart.u.data[0].length };
}"""


@pytest.fixture(scope="module")
def story() -> Story:
    return Story(seconds=1_200)


def serve(fake: Fake, story: Story, *, seq: int, stored: int, **more: Any) -> None:
    """The page as it was at ``seq``, and a database that knows ``stored`` seconds."""
    fake.pages[PATH] = pages.run_page(story, seq=seq, **more)
    fake.backfill = lambda since: story.frame(stored, since=since)


def wait_for_rows(page: Page, figure: str, rows: int) -> dict[str, Any]:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        drawn = page.evaluate(READ, figure)
        if drawn["plotted"] == rows:
            return drawn
        page.wait_for_timeout(50)
    raise AssertionError(f"{figure} shows {drawn['plotted']} rows, not {rows}")


def column(rows: list[Any], columns: list[str], key: str) -> list[Any]:
    return [row[columns.index(key)] for row in rows]


def connected(page: Page) -> None:
    page.wait_for_function(
        "() => document.querySelector('.conn').dataset.s === 'live'", timeout=15_000
    )


def test_a_page_draws_its_first_frame_without_asking(
    fake: Fake, open_page: Open, story: Story
) -> None:
    serve(fake, story, seq=300, stored=300)
    drawn = wait_for_rows(open_page(PATH), "figure-in_flight", 300)
    assert drawn["columns"][1] == column(story.events[:300], EVENTS, "limit")


def test_a_shadow_is_drawn_beside_the_limit_and_shaded_where_they_part(
    fake: Fake, open_page: Open
) -> None:
    beside = Story(seconds=400, shadow=True)
    serve(fake, beside, seq=200, stored=200, shadow_version=pages.version("tight", "v2"))
    page = open_page(PATH)
    connected(page)
    page.evaluate("document.getElementById('trace').scrollIntoView()")
    fake.send(*(beside.frame(seq, since=seq - 1) for seq in range(201, 401)))
    drawn = wait_for_rows(page, "trace-limit", 400)
    shadow = column(beside.events, EVENTS, "shadow_limit")
    assert drawn["columns"][2] == shadow
    shaded = page.evaluate(
        """async () => {
          const { charts } = await import("/static/js/chart.js");
          return charts.get(document.getElementById("trace-limit")).data.divergence;
        }"""
    )
    limits = column(beside.events, EVENTS, "limit")
    apart = [abs(a - b) > 0.1 * a for a, b in zip(limits, shadow, strict=True)]
    assert [low is not None for low in shaded["lower"]] == apart
    assert 0 < sum(apart) < 400
    assert page.locator(".lane-name").all_inner_texts() == ["policy", "shadow"]
    assert "first diverged at 300.0 s" in page.locator("#shadow-said").inner_text()
    page.locator("#trace-limit button", has_text="Table").click()
    heads = page.locator("#trace-limit th").all_inner_texts()
    assert heads[-2:] == ["Limit", "Shadow's limit"]


def test_another_run_that_starts_on_the_endpoint_is_named_from_then_on(
    fake: Fake, open_page: Open, story: Story
) -> None:
    serve(fake, story, seq=60, stored=60)
    page = open_page(PATH)
    connected(page)
    notice = page.locator("#mixed")
    assert not notice.is_visible()
    other = {"name": "chat-fast v2 0badcafe", "url": "/runs/0/"}
    fake.send(story.frame(61, since=60) | {"mixed": [other]})
    notice.wait_for(state="visible", timeout=10_000)
    fake.send(story.frame(62, since=61) | {"mixed": []}, story.frame(63, since=62))
    wait_for_rows(page, "figure-in_flight", 63)
    assert notice.is_visible()
    assert notice.locator("a").all_inner_texts() == [other["name"]]


def test_a_burst_of_a_thousand_frames_ends_equal_to_what_was_sent(
    fake: Fake, open_page: Open, story: Story
) -> None:
    serve(fake, story, seq=100, stored=100)
    page = open_page(PATH)
    connected(page)
    fake.send(*(story.frame(seq, since=seq - 1) for seq in range(101, 1_101)))
    drawn = wait_for_rows(page, "figure-in_flight", 1_100)
    assert drawn["x"] == list(range(1_100))
    assert drawn["columns"][0] == column(story.events[:1_100], EVENTS, "in_flight")
    ttft = page.evaluate(READ, "figure-ttft")
    assert ttft["columns"][2] == column(story.cohorts[:110], COHORTS, "ttft_p99")
    assert page.locator('[data-part="elapsed"]').inner_text() == "18:20"
    assert fake.asked == [100]


def test_a_gap_in_the_numbers_is_filled_over_http(
    fake: Fake, open_page: Open, story: Story
) -> None:
    serve(fake, story, seq=50, stored=50)
    page = open_page(PATH)
    connected(page)
    fake.backfill = lambda since: story.frame(60, since=since)
    fake.send(story.frame(51, since=50), story.frame(58, since=57), story.frame(59, since=58))
    drawn = wait_for_rows(page, "figure-in_flight", 60)
    assert drawn["columns"][0] == column(story.events[:60], EVENTS, "in_flight")
    assert fake.asked == [50, 51]


def test_frames_that_come_twice_or_late_change_nothing(
    fake: Fake, open_page: Open, story: Story
) -> None:
    serve(fake, story, seq=40, stored=40)
    page = open_page(PATH)
    connected(page)
    late = story.frame(30, since=29) | {"run": story.frame(30)["run"] | {"elapsed_s": 1}}
    fake.send(story.frame(41, since=40), late, story.frame(41, since=40), story.frame(42, since=41))
    drawn = wait_for_rows(page, "figure-in_flight", 42)
    assert drawn["x"] == list(range(42))
    assert page.locator('[data-part="elapsed"]').inner_text() == "0:42"


def test_a_dropped_socket_is_opened_again_and_what_was_missed_is_there(
    fake: Fake, open_page: Open, story: Story
) -> None:
    serve(fake, story, seq=80, stored=80)
    page = open_page(PATH)
    connected(page)
    fake.refuse_sockets = True
    fake.drop()
    page.wait_for_function("() => document.querySelector('.conn').dataset.s === 'retry'")
    fake.backfill = lambda since: story.frame(140, since=since)
    fake.refuse_sockets = False
    drawn = wait_for_rows(page, "figure-in_flight", 140)
    assert drawn["columns"][0] == column(story.events[:140], EVENTS, "in_flight")
    connected(page)
    assert fake.asked[-1] == 80


def test_a_paused_page_lets_go_of_its_socket_and_catches_up_later(
    fake: Fake, open_page: Open, story: Story
) -> None:
    serve(fake, story, seq=30, stored=30)
    page = open_page(PATH)
    connected(page)
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelector('.conn').dataset.s === 'paused'")
    fake.backfill = lambda since: story.frame(90, since=since)
    page.get_by_role("button", name="Resume").click()
    wait_for_rows(page, "figure-in_flight", 90)


def test_a_run_that_ends_shows_its_verdict_says_it_once_and_stops_asking(
    fake: Fake, open_page: Open, story: Story
) -> None:
    serve(fake, story, seq=50, stored=50)
    page = open_page(PATH)
    connected(page)
    said = page.locator('[data-part="said"]')
    spoken = page.evaluate_handle(
        """() => { const heard = []; const line = document.querySelector('[data-part="said"]');
        new MutationObserver(() => heard.push(line.textContent)).observe(line, { childList: true });
        return heard; }"""
    )
    fake.send(*(story.frame(seq, since=seq - 1) for seq in range(51, 56)))
    fake.pages[PATH] = pages.run_page(story, seq=56, status="done")
    fake.send(story.frame(56, since=55, status="done"))
    page.wait_for_function(
        "() => document.querySelector('[data-part=word]').textContent === 'Passed'"
    )
    assert page.evaluate("(heard) => heard.length", spoken) == 1
    assert said.inner_text().startswith("Passed, final.")
    assert page.locator(".conn").inner_text() == "Final"
    page.get_by_role("button", name="Run again").wait_for()
    assert page.get_by_role("button", name="Cancel run").count() == 0


def test_a_finished_run_is_drawn_without_a_socket(
    fake: Fake, open_page: Open, story: Story
) -> None:
    fake.pages[PATH] = pages.run_page(story, seq=1_200, status="done", first=False)
    fake.backfill = lambda since: story.frame(1_200, since=since, status="done")
    page = open_page(PATH)
    wait_for_rows(page, "figure-in_flight", 1_200)
    assert fake.accepted == 0
    assert fake.asked == [0]


def test_words_from_a_target_are_shown_as_text_never_as_markup(
    fake: Fake, open_page: Open, story: Story
) -> None:
    serve(fake, story, seq=50, stored=50)
    page = open_page(PATH)
    connected(page)
    evil = "<img src=x onerror=alert(1)>"
    frame = story.frame(51, since=50)
    frame["failures"] = [{"outcome": "http_5xx", "count": 1, "share": 1.0, "first_error": evil}]
    frame["tenants"] = [frame["tenants"][0] | {"tenant": evil}]
    frame["verdict"] = frame["verdict"] | {"because": evil}
    fake.send(frame)
    page.get_by_text(evil).nth(2).wait_for()
    assert page.get_by_text(evil).count() == 3
    assert page.locator("main img, .verdict img").count() == 0


def test_a_long_run_is_asked_for_anew_in_coarser_rows_so_that_memory_stays_bounded(
    fake: Fake, open_page: Open
) -> None:
    long = Story(seconds=3_620, duration=7_200)
    serve(fake, long, seq=3_595, stored=3_595)
    page = open_page(PATH)
    connected(page)
    coarse = {"step": 60, "rows": [row for row in long.events if (row[0] or 0) % 60 == 0]}
    fake.backfill = lambda since: long.frame(3_610, since=since) | {"events": coarse}
    fake.send(*(long.frame(seq, since=seq - 1) for seq in range(3_596, 3_611)))
    drawn = wait_for_rows(page, "figure-in_flight", 61)
    assert drawn["columns"][1] == column(coarse["rows"], EVENTS, "limit")
    assert fake.asked == [3_595, 0]


def test_a_worker_that_falls_silent_is_said_to_be_stale(
    fake: Fake, open_page: Open, story: Story
) -> None:
    frame = story.frame(50)
    old = (datetime.now(UTC) - timedelta(seconds=40)).isoformat()
    frame["run"] |= {"updated_at": old}
    fake.pages[PATH] = pages.run_page(story, seq=50)
    fake.backfill = lambda _since: frame
    page = open_page(PATH)
    page.get_by_text("The data are getting old.").wait_for()
    assert page.locator(".conn").inner_text().startswith("Stale · data 4")
    fake.send(story.frame(51, since=50))
    page.get_by_text("The data are getting old.").wait_for(state="hidden")


def test_a_tenants_latencies_are_in_its_row_and_grey_where_n_is_too_small(
    fake: Fake, open_page: Open, story: Story
) -> None:
    frame = story.frame(50)
    rough = {"ttft_p99_ms": None, "ttft_rough_ms": 588}
    frame["tenants"] = [frame["tenants"][0] | rough, *frame["tenants"][1:]]
    fake.pages[PATH] = pages.run_page(story, seq=50, first=False)
    fake.backfill = lambda _since: frame
    page = open_page(PATH)
    rows = page.locator("#tenants tbody tr")
    rows.nth(3).wait_for()
    assert rows.nth(1).locator("td").all_inner_texts()[5:7] == ["622 ms", "43.1 ms"]
    few = rows.nth(0).locator(".muted", has_text="588 ms")
    assert few.get_attribute("title") == "n too small"


@pytest.mark.parametrize(
    ("status", "words"),
    [("running", "No decision yet."), ("done", "No decision was made.")],
)
def test_a_run_without_decisions_says_whether_one_can_still_come(
    fake: Fake, open_page: Open, story: Story, status: str, words: str
) -> None:
    frame = story.frame(50, status=status) | {"decisions": []}
    fake.pages[PATH] = pages.run_page(story, seq=50, status=status, first=False)
    fake.backfill = lambda _since: frame
    page = open_page(PATH)
    page.locator("#decisions td", has_text=words).wait_for()
    assert page.locator("#trace-limit .fig-sum").inner_text() == words


def test_decisions_that_moved_nothing_are_not_said_to_be_missing(
    fake: Fake, open_page: Open, story: Story
) -> None:
    held = [one for one in story.decisions if one["before"] == one["after"]][:1]
    frame = story.frame(50, status="done") | {"decisions": held}
    fake.pages[PATH] = pages.run_page(story, seq=50, status="done", first=False)
    fake.backfill = lambda _since: frame
    open_page(PATH).locator("#decisions td", has_text="The limit has not moved").wait_for()


@pytest.mark.parametrize("scripts", [True, False])
def test_tiles_of_an_invalid_run_are_neutral_and_say_that_they_are_not_judged(
    fake: Fake, open_page: Open, story: Story, monkeypatch: pytest.MonkeyPatch, scripts: bool
) -> None:
    frame = story.frame(50, status="done")
    frame["tiles"] = [tile | {"status": "none", "judged": False} for tile in frame["tiles"]]
    monkeypatch.setattr(story, "frame", lambda *_, **__: frame)
    fake.pages[PATH] = pages.run_page(story, seq=50, status="done")
    page = open_page(PATH, java_script_enabled=scripts)
    heads = page.locator("#tiles .tile h3")
    said = [heads.nth(i).locator("span").nth(1).inner_text() for i in range(6)]
    judged, free = "not judged", "no objective"
    assert said == [judged, free, judged, judged, free, free]
    assert page.locator('#tiles .tile:not([data-v="none"])').count() == 0


def test_no_sparkline_lies_under_a_long_number(fake: Fake, open_page: Open, story: Story) -> None:
    serve(fake, story, seq=1_200, stored=1_200)
    page = open_page(PATH)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator("#tiles .spark").first.wait_for()
    gaps = page.evaluate(
        """() => [...document.querySelectorAll("#tiles .tile:has(.spark)")].map((tile) => {
          const words = document.createRange();
          tile.querySelector(".value").firstChild.textContent = "12,345.6";
          words.selectNodeContents(tile.querySelector(".value"));
          const spark = tile.querySelector(".spark").getBoundingClientRect();
          return spark.left - words.getBoundingClientRect().right;
        })"""
    )
    assert gaps
    assert min(gaps) >= 0
