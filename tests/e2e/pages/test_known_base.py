"""Every page finds Streamlit's server at once: it looks at no address that answers 404."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import signed_in
from tests.e2e.pitwall_process import Pitwall

pytestmark = [pytest.mark.browser, pytest.mark.pages]


@pytest.mark.parametrize("base_path", ["", "/pitwall"])
def test_no_page_asks_for_what_is_not_there(browser: Browser, idle_pitwall: Pitwall, base_path: str) -> None:
    idle_pitwall.base_path = base_path
    idle_pitwall.environ["PITWALL_PUBLIC_URL"] = idle_pitwall.url
    idle_pitwall.start()
    context = signed_in(browser, idle_pitwall)
    page, refused = context.new_page(), list[str]()
    page.on("response", lambda answer: refused.append(answer.url) if answer.status >= 400 else None)
    for path, text in (("/compare", "Nothing has run yet"), ("/explore", "Explore"), ("/", "No run has ended yet")):
        page.goto(f"{idle_pitwall.url}{path}")
        expect(page.get_by_text(text).first).to_be_visible()
    assert refused == []
    page.get_by_role("link", name="Studies").click()
    page.wait_for_url(f"{idle_pitwall.url}/studies")
    context.close()
