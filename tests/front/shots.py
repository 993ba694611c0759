"""Pictures of the pages for people to look at: ``python -m tests.front.shots DIR [NAME…]``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from django.conf import settings
from playwright.sync_api import sync_playwright

from tests.front import pages, story
from tests.front.conftest import CHROMIUM, QUIET
from tests.front.fake import Fake

settings.ROOT_URLCONF = "tests.front.urls"
SIZES = ((1440, 900), (390, 844))
PATH = f"/runs/{pages.RUN}/"


def main(out: Path, names: list[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    told, short, none = story.Story(), story.Story(seconds=14), story.Story(seconds=0)
    mixed = pages.rows(("running", "pass"), ("done", "fail"), ("done", "pass"), ("lost", "none"))
    shown = {
        "run": (PATH, pages.run_page(told, seq=told.seconds), told),
        "run-done": (PATH, pages.run_page(told, seq=told.seconds, status="done"), told),
        "run-collecting": (PATH, pages.run_page(short, seq=14), short),
        "run-empty": (PATH, pages.run_page(none, status="queued"), none),
        "launch": ("/runs/new/", pages.launch_page(), None),
        "launch-errors": (
            "/runs/new/",
            pages.launch_page({"process": "poisson", "rate": ""}),
            None,
        ),
        "list": ("/runs/", pages.list_page(mixed), None),
        "list-empty": ("/runs/", pages.list_page([]), None),
        "home": ("/", pages.home_page(mixed), None),
        "home-empty": ("/", pages.home_page([]), None),
        "403": ("/", pages.rendered("403.html", "/", {}), None),
        "404": ("/", pages.rendered("404.html", "/", {}), None),
        "500": ("/", pages.rendered("500.html", "/", {}), None),
    }
    with Fake() as fake, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(QUIET))
        fake.preview = lambda: (200, story.PREVIEW)
        for name, (path, html, said) in shown.items():
            if names and name not in names:
                continue
            fake.pages = {path: html}
            status = "queued" if name == "run-empty" else "running"
            fake.backfill = lambda since, said=said, status=status: (
                said and said.frame(said.seconds, since=since, status=status)
            )
            for width, height in SIZES:
                for scheme in ("light", "dark"):
                    page = browser.new_page(
                        viewport={"width": width, "height": height}, color_scheme=scheme
                    )
                    page.on("console", lambda message: print(name, message.text))  # noqa: T201
                    page.on("pageerror", lambda error: print(name, error))  # noqa: T201
                    page.goto(fake.origin + path)
                    page.wait_for_timeout(900)
                    page.screenshot(path=out / f"{name}-{scheme}-{width}.png", full_page=True)
                    page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
