"""Adopting an operating point in a real browser: from Compare to Runs, to Launch, and superseded by the next."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.compare.test_report import seed_arms
from tests.e2e.conftest import signed_in
from tests.e2e.launch_page import command_box
from tests.e2e.page_at_rest import current, press
from tests.e2e.pitwall_process import Pitwall
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, with two arms of three starts."""
    pitwall = Pitwall(tmp_path_factory.mktemp("pitwall") / "data", free_ports(1)[0])
    seed_arms(pitwall.data)
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


def adopt(page: Page, arm: str, why: str, place: str | None = None) -> None:
    press(page.get_by_role("button", name="Adopt", exact=True))
    press(page.get_by_role("combobox", name="Arm"))
    press(page.get_by_role("option", name=arm))
    current(page.get_by_label("Why")).fill(why)
    current(page.get_by_label("For what")).fill("coding <b>agents")
    current(page.get_by_label("Who")).fill("Ada")
    if place:
        press(page.get_by_role("combobox", name="In place of"))
        press(page.get_by_role("option", name=place))
    press(page.get_by_role("button", name="Adopt it"))


def test_point_is_adopted_started_and_superseded(browser: Browser, pitwall: Pitwall) -> None:
    context = signed_in(browser, pitwall, viewport={"width": 1400, "height": 1200})
    page = context.new_page()
    ids = [row[0] for row in pitwall.sql("SELECT run_id FROM runs ORDER BY name")]
    compare = f"{pitwall.url}/compare?" + "&".join(f"run={one}" for one in ids)
    page.goto(compare)
    adopt(page, "k 4", "fastest at eight users")
    locator = page.get_by_text("Adopted for coding <b>agents: k 4, by Ada")
    expect(locator.first).to_contain_text("based on 3 runs: fastest at eight users")
    page.goto(pitwall.url)
    press(page.get_by_text("Adopted operating points: 1"))
    press(page.get_by_role("link", name="Start from it"))
    expect(command_box(page)).to_have_value(re.compile(r"vllm serve org/model\s"))
    expect(page.get_by_text("the adopted point k 4").first).to_be_visible()
    page.goto(compare)
    adopt(page, "k 0", "needs no draft model", place="k 4")
    expect(page.get_by_text("Adopted for coding <b>agents: k 0, by Ada").first).to_be_visible()
    expect(page.get_by_text("Adopted for coding <b>agents: k 4, by Ada")).to_have_count(0)
    page.goto(pitwall.url)
    press(page.get_by_text("Adopted operating points: 1"))
    expect(page.get_by_text("Superseded by k 0").first).to_be_visible()
    press(page.get_by_text("Links and changes"))
    expect(page.get_by_text("k 0 as ").first).to_contain_text("in place of")
    context.close()
