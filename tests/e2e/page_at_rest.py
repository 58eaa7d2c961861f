"""A page that has come: what is looked at earlier holds nothing that could be wrong."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

from playwright.sync_api import Download, Locator, Page, Route, TimeoutError, expect

from tests.conftest import PATIENCE_MS

LOST_AFTER_MS = 10_000
# Streamlit follows the address as after the browser's "back"; what it shows of it is there when its script has run.
VISIT = """([address, lost]) => new Promise((resolve) => {
  new MutationObserver((_, watch) => {
    if (document.querySelector('[data-testid=stApp]')?.dataset.testScriptState !== 'notRunning') return;
    watch.disconnect();
    resolve(true);
  }).observe(document.body, { attributeFilter: ['data-test-script-state'], subtree: true });
  setTimeout(() => resolve(false), lost);  // React may draw the script's beginning and its end as one
  history.pushState({}, '', address);
  dispatchEvent(new PopStateEvent('popstate'));
})"""
SETTLED_MS = 150  # a value that the browser sends has begun the next run of the script by then, as a rule


def expect_whole(locator: Locator) -> None:
    """Wait for something that the page ends with, and until its script has sent all of it."""
    expect(locator.first).to_be_visible()
    expect(locator.page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def visit(page: Page, url: str) -> None:
    """Go to an address of Pitwall's without loading Streamlit anew, which costs four times the CPU.

    Where the page is only another state of the same one, its widgets keep theirs; await what the new one alone shows.
    """
    app = page.get_by_test_id("stApp")
    if not app.count() or urlsplit(page.url).netloc != urlsplit(url).netloc:
        page.goto(url)
        return
    wait_for_rest(page)
    if not page.evaluate(VISIT, [url, LOST_AFTER_MS]):
        page.goto(url)


def waiting_for_ever(patience: str) -> Callable[[Route], None]:
    """Serves a script of ours that never gives up; a busy machine else shows what it has, which is not what is tested.

    patience: the script's own statement that says when it would.
    """

    def serve(route: Route) -> None:
        answer = route.fetch(max_retries=3)  # uvicorn may close a kept connection at that moment
        assert patience in answer.text()
        route.fulfill(response=answer, body=answer.text().replace(patience, "const GIVE_UP_MS = 2 ** 30;"))

    return serve


def current(locator: Locator) -> Locator:
    """The same without what Streamlit is about to replace: for a moment the old one and the new one are both there."""
    return locator.and_(locator.page.locator(":not([data-stale=true] *)"))


def wait_for_rest(page: Page) -> None:
    """Wait until the script has ended and does not begin again; go on where it never does."""
    app = page.get_by_test_id("stApp")
    for _ in range(2 if app.count() else 0):
        with suppress(AssertionError):
            expect(app).to_have_attribute("data-test-script-state", "notRunning", timeout=LOST_AFTER_MS)
        page.wait_for_timeout(SETTLED_MS)


def press(locator: Locator) -> None:
    """Press it as somebody does who waits for the page: what is drawn again at that moment would lose the press."""
    current(locator).wait_for()
    wait_for_rest(locator.page)
    current(locator).click()


def fill_until(box: Locator, text: str, opens: Locator, times: int = 6) -> None:
    """Fill in what makes a button usable, again where Streamlit has replaced the box while it was filled in."""
    for _ in range(times):
        wait_for_rest(box.page)
        current(box).fill(text)
        current(box).press("Enter")
        with suppress(AssertionError):
            expect(current(opens)).to_be_enabled(timeout=LOST_AFTER_MS)
            return
    expect(current(opens)).to_be_enabled()


def press_until(button: Locator, locator: Locator, times: int = 6) -> None:
    """Press what changes the page, again where Streamlit has lost the press because it was still drawing."""
    for _ in range(times):
        press(button)
        with suppress(AssertionError):
            expect(locator).to_be_visible(timeout=LOST_AFTER_MS)
            return
    expect(locator).to_be_visible()


def downloaded_by(button: Locator, times: int = 6) -> Download:
    """What a press on a download button brings; while the page is drawn again, Streamlit has no file for it."""
    page = button.page
    for patience_ms in [LOST_AFTER_MS] * (times - 1) + [PATIENCE_MS]:
        wait_for_rest(page)
        with suppress(TimeoutError):
            with page.expect_download(timeout=patience_ms) as caught:
                current(button).click()
            return caught.value
    raise AssertionError(f"{times} presses brought no file")
