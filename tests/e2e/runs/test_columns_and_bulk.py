"""Runs in a browser: columns are chosen, put in order and pinned; several runs are tagged and deleted at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.page_at_rest import current, press, visit, wait_for_rest
from tests.e2e.pitwall_process import Pitwall, running_pitwall
from tests.e2e.seeds import seed_many
from web.runs.table.run_table import HEAD_PX, ROW_PX

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(600)]
GRID = "[data-testid=stDataFrame]"
TICK_PX = 16  # from the left edge of a table: where a row is ticked


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, with 20 runs that have ended."""
    data = tmp_path_factory.mktemp("columns") / "data"
    seed_many(data)
    with running_pitwall(data) as pitwall:
        yield pitwall


def choose(box: Locator, word: str) -> None:
    wait_for_rest(box.page)
    current(box).fill(word)
    current(box).press("Enter")
    wait_for_rest(box.page)


def titles(page: Page) -> Locator:
    return page.locator(f"{GRID} thead th")


def test_columns_keep_chosen_order_after_pinned(open_page: Page, pitwall: Pitwall) -> None:
    page = open_page
    visit(page, f"{pitwall.url}/?column=state")
    expect(titles(page)).to_contain_text(["Run", "State"])
    press(page.get_by_role("button", name="Columns", exact=True))
    for word in ("Peak, tok/s", "Tags"):
        choose(page.get_by_role("combobox", name="Columns"), word)
    expect(titles(page)).to_contain_text(["Run", "State", "Peak", "Tags"])
    choose(page.get_by_role("combobox", name="Pinned beside the name"), "Tags")
    expect(titles(page)).to_contain_text(["Run", "Tags", "State", "Peak"])
    address = f"{pitwall.url}/?column=state&column=peak&column=tags&pin=tags"
    expect(page).to_have_url(address)
    page.reload()
    expect(titles(page)).to_contain_text(["Run", "Tags", "State", "Peak"])
    expect(page).to_have_url(address)


def test_rarer_filters_stay_open_while_they_are_set(open_page: Page, pitwall: Pitwall) -> None:
    page = open_page
    visit(page, f"{pitwall.url}/")
    press(page.get_by_role("button", name="More filters", exact=True))
    choose(page.get_by_role("combobox", name="Draft length k"), "4")
    choose(page.get_by_role("combobox", name="Quantization"), "fp8")
    expect(page).to_have_url(f"{pitwall.url}/?k=4&quantization=fp8")
    expect(page.get_by_text("2 in use", exact=True)).to_be_visible()
    page.mouse.click(5, 5)  # beside it, which closes it
    expect(page.get_by_role("combobox", name="Quantization")).to_have_count(0)
    page.reload()
    expect(page.get_by_text("2 in use", exact=True)).to_be_visible()


def tick(page: Page, rows: int) -> None:
    grid = page.locator(GRID).first
    for row in range(rows):
        wait_for_rest(page)
        grid.click(position={"x": TICK_PX, "y": HEAD_PX + ROW_PX * row + ROW_PX / 2})
    wait_for_rest(page)


def test_bulk_tag_delete_and_restore(open_page: Page, pitwall: Pitwall) -> None:
    page = open_page
    visit(page, f"{pitwall.url}/?find=bf16&column=tags")
    expect(page.get_by_text("9 of 20 runs that have ended")).to_be_visible()
    tick(page, 3)
    press(page.get_by_role("button", name="Tag", exact=True))
    choose(page.get_by_role("combobox", name="Tags"), "looked-at")
    page.keyboard.press("Escape")
    press(page.get_by_role("button", name="Add", exact=True))
    expect(page.locator(f"{GRID} tbody tr").filter(has_text="looked-at")).to_have_count(3)
    visit(page, f"{pitwall.url}/?tag=looked-at&column=tags")
    expect(page.get_by_text("3 of 20 runs that have ended")).to_be_visible()
    press(page.get_by_role("button", name="Delete", exact=True))
    press(page.get_by_role("dialog").get_by_role("button", name=re.compile("Delete 3 runs")))
    expect(page.get_by_text("Deleted runs: 3")).to_be_visible()
    visit(page, pitwall.url)
    expect(page.get_by_text("17 of 17 runs that have ended")).to_be_visible()
    press(page.get_by_text("Deleted runs: 3"))
    press(page.get_by_role("button", name="Restore all"))
    expect(page.get_by_text("20 of 20 runs that have ended")).to_be_visible()
    expect(page.get_by_text("Deleted runs")).to_have_count(0)
