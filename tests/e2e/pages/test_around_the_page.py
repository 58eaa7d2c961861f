"""Parts around every page: the drawer of a phone, and the bar while Pitwall does not answer."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import signed_in
from tests.e2e.pitwall_process import Pitwall

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.timeout(300)]
DRAWER = "[data-testid=stSidebar]"
OPENER = "[data-testid=stExpandSidebarButton]"
DIALOG_SEEN = """() => { window.dialogs = 0; setInterval(() => {
  const dialog = document.querySelector("[role=dialog]");
  if (dialog && dialog.checkVisibility()) window.dialogs += 1;
}, 20); }"""


def test_the_drawer_closes_after_a_link_and_is_closed_after_a_reload(browser: Browser, pitwall: Pitwall) -> None:
    context = signed_in(browser, pitwall, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{pitwall.url}/studies")
    expect(page.locator(".pw-title")).to_have_text("Studies")
    page.locator(OPENER).tap()
    page.locator(f"{DRAWER} a", has_text="Issues").tap()
    expect(page.locator(".pw-title")).to_have_text("Issues")
    expect(page.locator(f"{DRAWER} a", has_text="Issues")).not_to_be_in_viewport()
    page.locator(OPENER).tap()
    expect(page.locator(f"{DRAWER} a", has_text="Issues")).to_be_in_viewport()
    page.reload()
    expect(page.locator(".pw-title")).to_have_text("Issues")
    expect(page.locator(OPENER)).to_be_visible()
    context.close()


def test_a_bar_tells_that_pitwall_is_gone_and_the_page_goes_on(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/issues")
    expect(page.locator(".pw-title")).to_have_text("Issues")
    bar = page.locator(".pw-lost-bar")
    expect(bar).to_be_hidden()
    before = page.locator(".pw-title").bounding_box()
    page.evaluate(DIALOG_SEEN)
    pitwall.kill()
    expect(bar).to_have_text("Pitwall does not answer. Your servers keep running. This page continues by itself.")
    assert bar.bounding_box()["y"] == 48, "right below the header"  # type: ignore[index]
    page.wait_for_timeout(6000)  # Streamlit's dialog comes after three seconds, and with each further try
    assert page.evaluate("window.dialogs") == 0
    assert page.locator(".pw-title").bounding_box() == before, "nothing moved"
    pitwall.start()
    expect(bar).to_be_hidden()
    page.get_by_role("link", name="Studies").click()
    expect(page.locator(".pw-title")).to_have_text("Studies")
    assert page.evaluate("window.dialogs") == 0, "it is the same document"
