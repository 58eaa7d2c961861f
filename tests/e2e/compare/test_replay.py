"""Finished runs played again side by side in a real browser: from Compare, by an address, and for a guest."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from settings import Settings
from storage.store import Store
from tests.accessibility import broken_at_each_size
from tests.analysis.comparison.ideal_engine import IdealEngine
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from tests.conftest import PATIENCE_MS
from tests.e2e.page_at_rest import press
from tests.e2e.pitwall_process import Pitwall
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.timeout(600)]
WINDOWS: list[ViewportSize] = [{"width": 1400, "height": 900}, {"width": 390, "height": 844}]
TOKENS: dict[str, int] = {}  # of the first phase, by run
IDS: list[str] = []


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, with one simulated start of each of two arms."""
    pitwall = Pitwall(tmp_path_factory.mktemp("pitwall") / "data", free_ports(1)[0])
    store, rng = Store.open(Settings(data_dir=pitwall.data)), np.random.default_rng(8)
    for k in (0, 4):
        facts = IdealEngine(0.02, drafts=k).run("ladder", rng, dict(SMALL))
        IDS.append(stored(store, facts, k, 20 * k, name=f"k {k}").id)
        measured = facts.loads[0].measured
        first = [one.completion_tokens or 0 for one in measured if one.phase_index == measured[0].phase_index]
        TOKENS[f"k {k}"] = sum(first)
    store.close()
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


def total(page: Page, name: str) -> int:
    words = page.get_by_label(name, exact=True).locator(".rp-total").inner_text()
    return int(words.removesuffix(" tokens").replace(",", ""))


def test_replay_opens_from_compare_and_completes(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/compare?run={IDS[0]}&run={IDS[1]}")
    press(page.get_by_role("button", name="More", exact=True))
    press(page.get_by_role("menuitem", name="Replay"))
    page.wait_for_url(re.compile(r"/replay\?run="))
    page.goto(f"{page.url}&speed=10")
    expect(page.get_by_label("k 0", exact=True)).to_contain_text("waiting for the first token")
    press(page.get_by_role("button", name="Play", exact=True))
    expect(page.get_by_role("button", name="Play again")).to_be_visible()
    slow, quick = (page.get_by_label(name, exact=True).locator(".rp-state") for name in ("k 0", "k 4"))
    (first, quick_s, _), (last, slow_s, gap_s) = finish(quick.inner_text()), finish(slow.inner_text())
    assert (first, last) == ("1st", "2nd") and gap_s == pytest.approx(slow_s - quick_s, abs=0.011)
    assert {name: total(page, name) for name in TOKENS} == TOKENS
    assert broken_at_each_size(page, WINDOWS) == []


def finish(text: str) -> tuple[str, float, float]:
    """Place, seconds to the end, and gap to the first."""
    match = re.fullmatch(r"(1st|2nd), ([\d.]+) s(?:; \+([\d.]+) s)?", text)
    assert match, text
    return match[1], float(match[2]), float(match[3] or 0)


def test_slider_sets_moment_and_address_a_request(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/replay?run={IDS[0]}&run={IDS[1]}&phase=1&request=1&speed=2")
    slider = page.get_by_label("Seconds since the start")
    slider.focus()
    slider.press("End")
    expect(page.get_by_label("k 0", exact=True)).to_contain_text("2nd, ")
    whole = total(page, "k 0")
    slider.press("Home")
    expect(page.get_by_label("k 0", exact=True)).to_contain_text("waiting for the first token")
    assert total(page, "k 0") == 0 < whole
    expect(page.get_by_role("combobox", name="Watch")).to_have_value(re.compile("request 2"))
    press(page.get_by_role("radio", name="×10"))
    page.wait_for_url(re.compile("speed=10"))


def test_guest_plays_only_shared_runs(browser: Browser, page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/replay?run={IDS[0]}&run={IDS[1]}")
    press(page.get_by_role("button", name="Share", exact=True))
    press(page.get_by_role("button", name="Make a link"))
    link = page.get_by_role("dialog").locator("code", has_text="/share/").first.inner_text()
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    guest = context.new_page()
    guest.goto(link)
    expect(guest.get_by_role("button", name="Pause", exact=True)).to_be_visible()  # it plays without a press
    assert "/replay?run=" in guest.url
    context.close()
