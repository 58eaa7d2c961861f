"""Notes of people on a run, in the browser: written, shared to be read, deleted and brought back."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from domain import RunState
from tests.e2e.conftest import signed_in
from tests.e2e.page_at_rest import current, press, visit
from tests.e2e.pitwall_process import Pitwall
from tests.e2e.seeds import seed_finished

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.timeout(600)]
ENDED = {"state": RunState.FINISHED, "cause": None, "cause_line": None, "note": None}


def write_a_note(page: Page) -> None:
    press(page.get_by_role("button", name="Notes, tags and verdict"))
    form = page.get_by_role("dialog")
    current(form.get_by_label("Name of the run")).fill("Renamed by hand")
    current(form.get_by_role("textbox", name="Note")).fill("**warm** start <img src=x onerror=window.harmed=1>")
    press(form.get_by_role("radio", name="4").or_(form.get_by_role("button", name="4")).first)
    press(form.get_by_role("button", name="Save"))
    expect(page.get_by_role("heading", name="Renamed by hand")).to_be_visible()


def link_for(page: Page) -> str:
    press(page.get_by_role("button", name="Share", exact=True))
    press(page.get_by_role("button", name="Make a link"))
    code = page.get_by_role("dialog").locator("[data-testid=stCode] code").first
    expect(code).to_contain_text("/share/")
    return code.inner_text().strip()


def test_note_reaches_guest_and_run_is_restored(browser: Browser, idle_pitwall: Pitwall) -> None:
    run_id = seed_finished(idle_pitwall.data, "As launched", **ENDED)
    idle_pitwall.start()
    context = signed_in(browser, idle_pitwall)
    page = context.new_page()
    page.goto(f"{idle_pitwall.url}/run?run={run_id}")
    write_a_note(page)
    expect(page.locator(".pw-people strong")).to_have_text("warm")
    expect(page.locator(".pw-people")).to_contain_text("Agentic feel 4/5")
    link = link_for(page)
    read_as_a_guest(browser, link)
    assert page.evaluate("window.harmed") is None and page.locator(".pw-people img").count() == 0

    page.goto(f"{idle_pitwall.url}/run?run={run_id}")
    press(page.get_by_role("button", name="More", exact=True))
    press(page.get_by_role("menuitem", name="Delete"))
    expect(page.get_by_role("dialog")).to_contain_text("a link that is open refers to it")
    visit(page, idle_pitwall.url)
    press(page.get_by_text("Links and changes"))
    press(page.get_by_role("button", name="Revoke"))
    expect(page.get_by_role("button", name="Revoke")).to_have_count(0)
    visit(page, f"{idle_pitwall.url}/run?run={run_id}")
    press(page.get_by_role("button", name="More", exact=True))
    press(page.get_by_role("menuitem", name="Delete"))
    press(page.get_by_role("button", name="Delete 1 run"))
    expect(page.get_by_text("Deleted runs: 1")).to_be_visible()
    press(page.get_by_text("Deleted runs: 1"))
    press(page.get_by_role("button", name="Restore", exact=True))
    expect(page.get_by_text("Deleted runs: 1")).to_have_count(0)
    expect(page.get_by_text("1 of 1 runs that have ended")).to_be_visible()
    context.close()


def read_as_a_guest(browser: Browser, link: str) -> None:
    context = browser.new_context()
    guest = context.new_page()
    guest.goto(link)
    expect(guest.locator(".pw-people strong")).to_have_text("warm")
    for button in ("Notes, tags and verdict", "Star"):
        expect(guest.get_by_role("button", name=button)).to_have_count(0)
    press(guest.get_by_role("button", name="More", exact=True))
    expect(guest.get_by_role("menuitem", name="Live view")).to_be_visible()
    for action in ("Save as a known issue", "Delete"):
        expect(guest.get_by_role("menuitem", name=action)).to_have_count(0)
    context.close()
