"""The place in a run's log in a browser: the address has it, so that a link, a reload and Back lead there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.page_at_rest import press
from tests.e2e.pitwall_process import Pitwall, running_pitwall
from tests.e2e.seeds import seed_finished

pytestmark = [pytest.mark.browser, pytest.mark.pages]
IDS: list[str] = []


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, with one run whose log has more lines than are shown at once."""
    data = tmp_path_factory.mktemp("log") / "data"
    IDS.append(seed_finished(data, log="".join(f"line {number:05d}\n" for number in range(2_000))))
    with running_pitwall(data) as pitwall:
        yield pitwall


def test_a_link_leads_to_the_place_in_the_log(page: Page, pitwall: Pitwall) -> None:
    address = f"{pitwall.url}/run?run={IDS[0]}"
    log = page.get_by_role("log", name="server log")
    page.goto(address)
    expect(log).to_contain_text("line 01999")
    press(page.get_by_role("button", name="Beginning", exact=True))
    expect(log).to_contain_text("line 00000")
    expect(page).to_have_url(f"{address}&log=0")
    press(page.get_by_role("button", name="Later", exact=True))
    expect(log).to_contain_text("line 00400")
    expect(page).to_have_url(re.compile(r"&log=4400$"))
    page.go_back()
    expect(log).to_contain_text("line 00000")
    page.go_forward()
    expect(log).to_contain_text("line 00400")
    page.reload()
    expect(log).to_contain_text("line 00400")
    page.go_back()
    expect(log).to_contain_text("line 00000")
    press(page.get_by_role("button", name="End", exact=True))
    expect(log).to_contain_text("line 01999")
    expect(page).to_have_url(address)


def test_the_keyboard_moves_the_slider_step_by_step(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/run?run={IDS[0]}")
    log, slider = page.get_by_role("log", name="server log"), page.get_by_role("slider", name="Position in the log")
    expect(log).to_contain_text("line 01999")
    slider.focus()
    for percent in (99, 98, 97):
        page.keyboard.press("ArrowLeft")
        expect(page).to_have_url(re.compile(rf"&log={percent * 17_600 // 100}$"))
        expect(log).to_have_text(re.compile(rf"^line {percent * 16:05d}"))  # 1,600 lines precede the last part
        expect(slider).to_have_count(1)  # the one before it stays until the script has ended
        expect(slider).to_have_value(str(percent))
        expect(slider).to_be_focused()
