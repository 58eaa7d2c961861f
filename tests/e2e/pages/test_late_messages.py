"""A message of the page that was left, arriving after the browser has gone on: Back leads to that page as it was."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.e2e.page_at_rest import press, visit, wait_for_rest
from tests.e2e.pitwall_process import Pitwall

pytestmark = [pytest.mark.browser, pytest.mark.pages]


class LateNavigation:
    """Between Streamlit and the browser: the newest message that names the page arrives again once the page is left."""

    def __init__(self, page: Page) -> None:
        self._newest = b""
        self._page_hash = ""
        self.late_messages = 0
        page.route_web_socket("**/_stcore/stream", self._connect)

    def _connect(self, browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()

        def to_server(content: str | bytes) -> None:
            assert isinstance(content, bytes)
            server.send(content)
            page_hash = BackMsg.FromString(content).rerun_script.page_script_hash
            if self._page_hash and page_hash not in ("", self._page_hash):
                browser.send(self._newest)
                self._page_hash = ""
                self.late_messages += 1

        def to_browser(content: str | bytes) -> None:
            assert isinstance(content, bytes)
            message = ForwardMsg.FromString(content)
            if message.WhichOneof("type") == "navigation":
                self._newest, self._page_hash = content, message.navigation.page_script_hash
            browser.send(content)

        browser.on_message(to_server)
        server.on_message(to_browser)


def test_back_leads_to_the_left_page_as_it_was(page: Page, pitwall: Pitwall) -> None:
    navigation, statement = LateNavigation(page), f"{pitwall.url}/sql?sql=SELECT+40%2B2+AS+answer"
    visit(page, statement)
    for name, address in (("Runs", f"{pitwall.url}/"), ("SQL", statement)):
        press(page.get_by_role("navigation", name="App pages").get_by_role("link", name=name, exact=True))
        expect(page).to_have_url(address)
        wait_for_rest(page)
    assert navigation.late_messages == 2
    page.go_back()
    expect(page).to_have_url(f"{pitwall.url}/")
    wait_for_rest(page)
    page.go_forward()
    expect(page).to_have_url(statement)
