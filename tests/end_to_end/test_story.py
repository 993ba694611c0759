"""A person's first quarter of an hour in a real browser, held against the database."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from tests.end_to_end.embedded import Embedded, wait_for

pytestmark = pytest.mark.browser

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PATIENCE = 60_000
"""Milliseconds; five times what a crowded machine has been seen to need."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.skip("no Chromium on this machine; install the package chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def faults() -> list[str]:
    """What the page's console said."""
    return []


@pytest.fixture
def page(browser: Browser, embedded: Embedded, faults: list[str]) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    page = context.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.extend(fault_of(said)))
    sign_in(page, embedded)
    yield page
    context.close()


def fault_of(said: ConsoleMessage) -> list[str]:
    """An error in the console. A preview of a form that can't run yet is answered 422, rightly."""
    previewed = said.location.get("url", "").endswith("/runs/preview/")
    return [said.text] if said.type == "error" and not (previewed and "422" in said.text) else []


def sign_in(page: Page, embedded: Embedded) -> None:
    page.goto(f"{embedded.url}/sign-in/")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(embedded.password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Fleet")).to_be_visible()


def launch(page: Page, embedded: Embedded, **fields: str) -> UUID:
    """Fill in the form, look at the load before it runs, start it."""
    page.goto(f"{embedded.url}/runs/new/")
    for label, text in (("Endpoint", "embedded"), ("Workload", "fixed-64")):
        page.get_by_label(label, exact=True).select_option(label=text)
    page.get_by_label("Policy version").select_option(label="fixed-32 v1")
    page.get_by_label("SLO").select_option(label="chat-interactive v1")
    for label, text in fields.items():
        page.get_by_label(label, exact=True).fill(text)
    expect(page.locator("#preview-said")).to_contain_text("requests in")
    page.get_by_role("button", name="Start run").click()
    expect(page.locator("[data-part=word]")).to_be_visible()
    return UUID(re.search(r"/runs/([0-9a-f-]{36})/", page.url)[1])


def stored(embedded: Embedded, run: UUID, what: str) -> Any:
    """One column of the run's row."""
    return embedded.rows(f"SELECT {what} FROM runs_run WHERE id = ?", run.hex)[0][0]


def offered(embedded: Embedded, run: UUID) -> int:
    """Over all windows, as the database has them."""
    rows = embedded.rows("SELECT data FROM runs_runwindow WHERE run_id = ?", run.hex)
    return sum(json.loads(data)["cohort"]["offered"] for (data,) in rows)


def tile_n(page: Page) -> int:
    """The n of the attainment tile; 0 while there is none."""
    found = re.search(r"n\s*([\d,]+)", page.locator("[data-tile=attainment]").inner_text())
    return int(found[1].replace(",", "")) if found else 0


def behind(page: Page, figure: str) -> list[list[str]]:
    """The rows of the table behind a figure."""
    button = page.locator(f"#figure-{figure}").get_by_role("button", name="Table")
    button.click()
    rows = page.locator(f"#figure-{figure} table tbody tr")
    expect(rows.first).to_be_visible()
    cells = [row.locator("td, th").all_inner_texts() for row in rows.all()]
    page.locator(f"#figure-{figure}").get_by_role("button", name="Chart").click()
    return cells


def test_launch_watch_finish_reload_and_compare_with_the_database(
    page: Page, embedded: Embedded, browser: Browser, faults: list[str]
) -> None:
    run = launch(page, embedded, Rate="6", Duration="20", Seed="11")
    promised = stored(embedded, run, "scenario")
    assert json.loads(promised)["seed"] == 11

    counts: set[int] = set()
    wait_for(
        lambda: counts.add(tile_n(page)) or len(counts - {0}) >= 3,
        within=90,
        why="numbers that move",
    )
    second = second_viewer(browser, embedded, run)

    expect(page.locator("[data-part=state]")).to_have_text("final", timeout=2 * PATIENCE)
    word = page.locator("[data-part=word]").inner_text()
    assert stored(embedded, run, "status") == "done"
    assert word == {"pass": "Passed", "fail": "Failed", "invalid": "Invalid"}.get(
        stored(embedded, run, "verdict"), "Inconclusive"
    )
    summary = json.loads(stored(embedded, run, "summary"))
    assert offered(embedded, run) == summary["offered"] == tile_n(page)
    because = page.locator("[data-part=because]").inner_text()
    assert because == summary["judgement"]["because"]
    drawn = {figure: behind(page, figure) for figure in ("load", "ttft", "in_flight")}

    page.reload()
    expect(page.locator("[data-part=because]")).to_have_text(because)
    assert {figure: behind(page, figure) for figure in drawn} == drawn, "the same after a reload"

    # The other browser lost its connection for a while: it must show the same all the same.
    expect(second.locator("[data-part=because]")).to_have_text(because)
    assert {figure: behind(second, figure) for figure in drawn} == drawn
    second.context.close()
    assert faults == []


def second_viewer(browser: Browser, embedded: Embedded, run: UUID) -> Page:
    """Another browser on the same run, whose network fails for four seconds."""
    context: BrowserContext = browser.new_context(viewport={"width": 390, "height": 844})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    sign_in(page, embedded)
    page.goto(f"{embedded.url}/runs/{run}/")
    expect(page.locator("[data-part=connection]")).to_contain_text("Live")
    context.set_offline(True)
    page.wait_for_timeout(4_000)
    context.set_offline(False)
    return page


def test_cancel_is_over_within_a_second_and_keeps_what_was_measured(
    page: Page, embedded: Embedded, faults: list[str]
) -> None:
    run = launch(page, embedded, Rate="6", Duration="120", Seed="12")
    wait_for(lambda: tile_n(page) > 0, within=90, why="the first number")
    page.locator("#verdict").get_by_role("button", name="Cancel run").click()
    clicked_at = time.time()
    page.get_by_role("dialog").get_by_role("button", name="Cancel run").click()
    wait_for(
        lambda: stored(embedded, run, "status") == "cancelled", within=30, why="the run to end"
    )
    ended_at = datetime.fromisoformat(f"{stored(embedded, run, 'ended_at')}+00:00").timestamp()
    assert ended_at - clicked_at < 5 * 1.0, "within a second on a quiet machine"
    expect(page.locator("[data-part=word]")).to_have_text("Cancelled")
    expect(page.locator("#verdict")).to_contain_text("admin")
    assert offered(embedded, run) > 0
    assert faults == []
