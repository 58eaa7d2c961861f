"""Another Pitwall is confirmed, watched and removed on the page of one; both are real."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.page_at_rest import current, press
from tests.e2e.pitwall_process import ROOT, Pitwall
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture
def other_pitwall(tmp_path: Path) -> Iterator[Pitwall]:
    pitwall = Pitwall(tmp_path / "other" / "data", free_ports(1)[0])
    pitwall.data.parent.mkdir()
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


def said_by(pitwall: Pitwall, *words: str) -> str:
    """What `./pitwall` prints for this data folder."""
    env = os.environ | {"PITWALL_DATA": str(pitwall.data)}
    argv = [sys.executable, str(ROOT / "pitwall"), *words]
    return subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout.strip()


def panel(page: Page, pitwall: Pitwall) -> Locator:
    page.goto(pitwall.url)
    press(page.get_by_text("Other Pitwalls"))
    return page.locator(".st-key-section-peers")


def confirm(page: Page, name: str, address: str, token: str) -> None:
    for label, words in (("Name", name), ("Address", address), ("Token", token)):
        current(page.get_by_label(label, exact=True)).fill(words)
    press(page.get_by_role("button", name="Confirm"))


def test_peer_is_confirmed_watched_and_removed(
    browser: Browser, page: Page, pitwall: Pitwall, other_pitwall: Pitwall
) -> None:
    token = said_by(other_pitwall, "token", "make", "live:read")
    peers = panel(page, pitwall)
    expect(peers.get_by_text("No other Pitwall is being watched.")).to_be_visible()
    confirm(page, "box-2", "http://gpu.example", token)
    expect(peers.get_by_text(re.compile("unencrypted: use https"))).to_be_visible()
    confirm(page, "box-2", other_pitwall.url, token)
    row = peers.get_by_role("row").filter(has_text=other_pitwall.url)
    expect(row.get_by_text(re.compile("^(connected|slow)$"))).to_be_visible()
    expect(page.get_by_label("Token", exact=True)).to_have_value("")

    viewer = browser.new_context().new_page()  # another browser, whose person may only look
    ann = said_by(pitwall, "token", "make", "sign-in:viewer", "--note", "Ann")
    viewer.goto(f"{pitwall.url}/?token={ann}")
    seen_panel = panel(viewer, pitwall)
    expect(seen_panel.get_by_role("row").filter(has_text=other_pitwall.url)).to_be_visible()
    expect(seen_panel.get_by_role("button", name=re.compile("Remove|Confirm"))).to_have_count(0)
    viewer.context.close()

    (token_id,) = re.findall(r"^token (\w+): live:read", said_by(other_pitwall, "token", "list"), re.MULTILINE)
    said_by(other_pitwall, "token", "revoke", token_id)
    expect(row.get_by_text(re.compile("^refused: .*401"))).to_be_visible()
    other_pitwall.kill()
    expect(row.get_by_text(re.compile("^absent: "))).to_be_visible()
    press(peers.get_by_role("button", name="Remove box-2"))
    expect(peers.get_by_text("No other Pitwall is being watched.")).to_be_visible()
    changes = [action for (action,) in pitwall.sql("SELECT action FROM audit WHERE action LIKE '%peer' ORDER BY ts")]
    assert changes[:1] == ["confirm peer"]
