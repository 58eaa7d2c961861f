"""Signing out: the open page gives way to the sign-in page, and other browsers stay or go as was asked."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import signed_in
from tests.e2e.page_at_rest import current, press, visit
from tests.e2e.pitwall_process import Pitwall
from web.page_paths import PATHS

pytestmark = [pytest.mark.browser, pytest.mark.pages]
# Streamlit's protobuf library tries WebAssembly for long integers, and does without where it may not.
TELLS = """addEventListener('securitypolicyviolation',
  (e) => e.blockedURI === 'wasm-eval' || console.error('CSP', e.violatedDirective, e.blockedURI))"""
WHERE = ("", *PATHS)


def at_the_list(page: Page, pitwall: Pitwall) -> Page:
    page.goto(pitwall.url)
    press(page.get_by_text("Links and changes"))
    return page


def test_browser_signs_out_itself_others_and_all(browser: Browser, pitwall: Pitwall) -> None:
    ours, theirs = (signed_in(browser, pitwall).new_page() for _ in range(2))
    theirs.goto(f"{pitwall.url}/live")
    press(at_the_list(ours, pitwall).get_by_role("button", name="Sign out", exact=True))
    expect(theirs.get_by_role("heading", name="Sign in to Pitwall")).to_be_visible()
    expect(ours.get_by_role("button", name="Sign out", exact=True)).to_have_count(0)
    press(ours.get_by_role("button", name="Sign out here"))
    expect(ours.get_by_role("heading", name="Sign in to Pitwall")).to_be_visible()
    current(ours.get_by_label("Token, or the full URL that Pitwall printed")).fill(
        f"{pitwall.url}/?token={pitwall.token}"
    )
    press(ours.get_by_role("button", name="Sign in"))
    press(at_the_list(ours, pitwall).get_by_role("button", name="Sign out everywhere"))
    expect(ours.get_by_role("heading", name="Sign in to Pitwall")).to_be_visible()
    for page in (ours, theirs):
        page.context.close()


def test_no_page_breaks_the_security_policy(page: Page, pitwall: Pitwall) -> None:
    page.add_init_script(TELLS)
    texts: list[str] = []
    page.on("console", lambda message: texts.append(f"{page.url} {message.text}"))
    for path in WHERE:
        policy = page.context.request.get(f"{pitwall.url}/{path}").headers["content-security-policy"]
        assert "script-src 'self'" in policy and "frame-ancestors 'none'" in policy, path
        visit(page, f"{pitwall.url}/{path}")
        expect(page.locator("[data-testid=stNavSectionHeader], [data-testid=stTopNavLink]").first).to_be_visible()
        expect(page.locator("[data-testid=stStatusWidget]")).to_have_count(0)
    assert [text for text in texts if "CSP" in text or "Content Security Policy" in text] == []
