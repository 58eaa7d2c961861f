"""A Pitwall of its own for each test module that wants one, and a browser profile that is signed in to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

from tests.conftest import PATIENCE_MS
from tests.e2e.pitwall_process import Pitwall
from tests.ports import free_ports

DESKTOP: ViewportSize = {"width": 1400, "height": 900}


@pytest.fixture(autouse=True)
def published_where_it_is_read() -> None:
    """All stores here do: a whole Pitwall is looked at."""


@pytest.fixture
def idle_pitwall(tmp_path: Path) -> Iterator[Pitwall]:
    """Not started yet."""
    pitwall = Pitwall(tmp_path / "data", free_ports(1)[0])
    yield pitwall
    pitwall.end_everything()


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, and empty at the start of the module."""
    pitwall = Pitwall(tmp_path_factory.mktemp("pitwall") / "data", free_ports(1)[0])
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


def signed_in(browser: Browser, pitwall: Pitwall, **options: object) -> BrowserContext:
    """A browser profile with the cookie of the printed URL; drawing a page for it would cost seconds a test."""
    context = browser.new_context(**options)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    answer = context.request.get(f"{pitwall.url}/?token={pitwall.token}")
    assert answer.ok, answer.text()
    return context


@pytest.fixture(scope="module")
def kept_page(browser: Browser, pitwall: Pitwall) -> Iterator[Page]:
    """One for a module: another would fetch and compile the scripts of every page again, for a third of its CPU."""
    context = signed_in(browser, pitwall, viewport=DESKTOP)
    yield context.new_page()
    context.close()


@pytest.fixture
def open_page(kept_page: Page) -> Iterator[Page]:
    """A signed-in page that must not meet an exception; tests that only look go on with `visit` where it was left."""
    yield kept_page
    assert kept_page.locator("[data-testid=stException]").count() == 0, "a page showed an exception"
    kept_page.unroute_all()
    kept_page.emulate_media(color_scheme="light")
    kept_page.set_viewport_size(DESKTOP)


@pytest.fixture
def page(kept_page: Page, open_page: Page) -> Page:
    """The same, empty at the start of each test."""
    kept_page.goto("about:blank")
    return open_page
