"""The recorder of a run on its page: opened, used, outliving Pitwall, closed; a guest sees only that it is open."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.demo_engine import DemoServer
from tests.e2e.launch_page import watch_server
from tests.e2e.page_at_rest import current, press
from tests.e2e.pitwall_process import Pitwall, wait_until
from web.loads.panels.recorder_panel import IS_OPEN

pytestmark = [pytest.mark.browser, pytest.mark.engine, pytest.mark.long, pytest.mark.timeout(600)]
RECORDED = "SELECT tool, completion_tokens FROM requests JOIN loads USING (run_id, load_id)"


def guest_link(page: Page) -> str:
    press(page.get_by_role("button", name="Share", exact=True))
    current(page.get_by_label("For whom")).fill("Ana")
    press(page.get_by_role("button", name="Make a link"))
    code = page.get_by_role("dialog").locator("code", has_text="/share/").first
    expect(code).to_be_visible()
    link = code.inner_text().strip()
    page.keyboard.press("Escape")
    return link


def test_next_pitwall_closes_the_recorder(
    page: Page, browser: Browser, pitwall: Pitwall, demo_server: DemoServer
) -> None:
    run_id = watch_server(page, pitwall, demo_server.base_url, "Theirs")
    page.goto(f"{pitwall.url}/run?run={run_id}")
    expect(page.get_by_text("Record what other clients send")).to_be_visible()
    press(page.get_by_text("Record what other clients send"))
    press(page.get_by_role("button", name="Open a recorder"))
    press(page.get_by_role("dialog").get_by_role("button", name="Open it"))
    locator = page.get_by_role("dialog").locator("code")
    expect(locator).to_have_count(2)
    url, token = (text.strip() for text in locator.all_inner_texts())
    body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
    answer = httpx.post(f"{url}/chat/completions", json=body, headers={"Authorization": f"Bearer {token}"}, timeout=60)
    assert answer.status_code == 200
    page.keyboard.press("Escape")
    expect(page.get_by_text(re.compile(r"Open at .*, 1 request so far"))).to_be_visible()
    expect(page.get_by_text(token)).to_have_count(0)
    wait_until(lambda: pitwall.sql(RECORDED) == [("recorder", 5)], 60)
    page.reload()
    expect(page.get_by_role("heading", name="Agent sessions")).to_be_visible()

    link = guest_link(page)
    guest = browser.new_context()
    seen_page = guest.new_page()
    seen_page.goto(link)
    seen_page.goto(f"{pitwall.url}/run?run={run_id}")
    expect(seen_page.get_by_text(IS_OPEN)).to_be_visible()
    expect(seen_page.get_by_text(url)).to_have_count(0)
    expect(seen_page.get_by_role("button", name="Close the recorder")).to_have_count(0)
    guest.close()

    pitwall.kill()
    pitwall.start()
    page.goto(f"{pitwall.url}/run?run={run_id}")
    press(page.get_by_text("Record what other clients send"))
    expect(page.get_by_text(re.compile(r"Open at .*, 1 request so far"))).to_be_visible()
    press(page.get_by_role("button", name="Close the recorder"))
    expect(page.get_by_text(re.compile(r"Closed\. The last recorder stored 1 request as load"))).to_be_visible()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/models")
