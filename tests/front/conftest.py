"""A real browser and a fake server for the pages' tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings
from django.urls import clear_url_caches, set_urlconf
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.front.fake import Fake

CHROMIUM = Path("/usr/bin/chromium")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One a module: Playwright's event loop runs in this thread until it ends, and other tests
    need the thread for theirs."""
    found = CHROMIUM if CHROMIUM.exists() else shutil.which("chromium")
    if not found:
        pytest.skip("no Chromium on this machine; install the package chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(found), args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def _addresses() -> Iterator[None]:
    with override_settings(ROOT_URLCONF="tests.front.urls"):
        clear_url_caches()
        set_urlconf(None)
        yield
    clear_url_caches()


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def open_page(browser: Browser, fake: Fake) -> Iterator[Open]:
    """Opens a path of the fake server; at the end, no script error or CSP violation was seen."""
    said: list[str] = []
    contexts: list[BrowserContext] = []

    def open_(path: str, *, width: int = 1440, height: int = 900, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(_words(message)) if _bad(message) else None)
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.goto(fake.origin + path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert said == []


def _bad(message: ConsoleMessage) -> bool:
    """Warnings and errors, but for what a server that goes away makes the browser say itself."""
    away = ("WebSocket connection", "Failed to load resource")
    return message.type in ("error", "warning") and not any(word in message.text for word in away)


def _words(message: ConsoleMessage) -> str:
    return f"{message.type}: {message.text}"
