"""Pictures of the pages for people to look at: ``python -m tests.front.shots DIR [NAME…]``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django
from playwright.sync_api import Browser, sync_playwright

from tests.front.fake import Fake

SIZES = ((1440, 900), (390, 844))
Shown = tuple[str, str, Callable[[int], dict[str, Any] | None]]


def shown() -> dict[str, Shown]:
    """Each page's path, its HTML, and what it gets when it asks for frames."""
    from tests.front import pages
    from tests.front.story import Story

    def run(seconds: int, status: str) -> Shown:
        story = Story(seconds=seconds)
        html = pages.run_page(story, seq=seconds, status=status)
        path = f"/runs/{pages.RUN}/"
        return path, html, lambda since: story.frame(seconds, since=since, status=status)

    def still(path: str, html: str) -> Shown:
        return path, html, lambda _since: None

    mixed = pages.rows(("running", "pass"), ("done", "fail"), ("done", "pass"), ("lost", "none"))
    refused = pages.launch_page({"process": "poisson", "rate": ""})
    return {
        "run": run(860, "running"),
        "run-done": run(1_200, "done"),
        "run-collecting": run(14, "running"),
        "run-empty": run(0, "queued"),
        "run-lost": run(300, "lost"),
        "launch": still("/runs/new/", pages.launch_page()),
        "launch-errors": still("/runs/new/", refused),
        "list": still("/runs/", pages.list_page(mixed)),
        "list-empty": still("/runs/", pages.list_page([])),
        "home": still("/", pages.home_page(mixed)),
        "home-empty": still("/", pages.home_page([])),
        **{
            code: still("/", pages.rendered(f"{code}.html", "/", {}))
            for code in ("403", "404", "500")
        },
    }


def take(browser: Browser, address: str, out: Path, name: str) -> None:
    """One page in both themes and both widths; what its scripts complain of is printed."""
    for width, height in SIZES:
        for scheme in ("light", "dark"):
            page = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            page.on("console", lambda message: print(name, message.text))  # noqa: T201
            page.on("pageerror", lambda error: print(name, error))  # noqa: T201
            page.goto(address)
            page.wait_for_timeout(900)
            page.screenshot(path=out / f"{name}-{scheme}-{width}.png", full_page=True)
            page.close()


def main(out: Path, names: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from django.conf import settings

    from tests.front.conftest import CHROMIUM, QUIET
    from tests.front.story import PREVIEW

    settings.ROOT_URLCONF = "tests.front.urls"
    out.mkdir(parents=True, exist_ok=True)
    with Fake() as fake, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(QUIET))
        fake.preview = lambda: (200, PREVIEW)
        for name, (path, html, frames) in shown().items():
            if not names or name in names:
                fake.pages, fake.backfill = {path: html}, frames
                take(browser, fake.origin + path, out, name)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
