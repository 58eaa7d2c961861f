"""The Runs page of a store with a long queue: what is under way and has ended stays in sight; the disk use of all."""

from __future__ import annotations

import base64
import re
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from domain import Config, Run, RunState
from launcher.runs.queue import RunQueue
from machine.identity import machine_id
from settings import Settings
from storage.store import Store
from tests.e2e.page_at_rest import current, press, visit
from tests.e2e.pitwall_process import Pitwall, running_pitwall
from tests.e2e.seeds import BEGAN, seed_finished
from web.runs.table.run_table import COLUMNS, HEAD_PX, ROW_PX, square

pytestmark = [pytest.mark.browser, pytest.mark.pages]
QUEUED = 60
NUMBER = "'number'"  # the type in a column's configuration
GRID = "[data-testid=stDataFrame] .dvn-scroller"
TICK_PX = 16  # from the left edge of a table: where a row is ticked
PADDING_PX = 8  # of a cell, on each side
# What each title takes in the table's head.
WIDTHS = """([grid, titles]) => {
  const pen = document.createElement("canvas").getContext("2d");
  const said = getComputedStyle(document.querySelector(grid));
  pen.font = `${said.getPropertyValue("--gdg-header-font-style")} ${said.getPropertyValue("--gdg-font-family")}`;
  return titles.map(title => pen.measureText(title).width);
}"""
LINK_AND_ACCENT = """() => {
  const probe = document.createElement("i");
  probe.style.color = "var(--pw-accent)";
  document.querySelector(".stApp").append(probe);
  const link = [...document.querySelectorAll("a")].find(one => one.textContent === "Live view");
  const colors = [link, probe].map(one => getComputedStyle(one).color);
  probe.remove();
  return colors;
}"""


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, with a run that has ended, one that is watched and many that wait."""
    data = tmp_path_factory.mktemp("runs") / "data"
    seed_finished(data, "Ended", state=RunState.FINISHED, cause=None, cause_line=None)
    # A watched run ends once its port has refused connections for a minute, which a slow machine takes for these tests.
    with socket.create_server(("127.0.0.1", 0)) as watched:
        seed_queue(data, f"http://127.0.0.1:{watched.getsockname()[1]}")
        with running_pitwall(data) as pitwall:
            yield pitwall


def seed_queue(data: Path, base_url: str) -> None:
    """A watched run, and behind it a queue on hold."""
    settings = Settings(data_dir=data)
    RunQueue(settings.runs_dir, lambda task: task()).hold(True)
    store = Store.open(settings)
    shared: dict[str, Any] = {
        "color": 0,
        "config": Config(),
        "machine_id": machine_id(),
        "base_url": base_url,
    }
    watched = Run(
        id="20261120-120001", name="Under way", kind="attached", state=RunState.READY, created_at=BEGAN, **shared
    )
    store.save_run(watched)
    for number in range(QUEUED):
        at, run_id = BEGAN + timedelta(hours=1), f"20261120-13{number:04d}"
        folder = str(settings.runs_dir / run_id)
        store.save_run(
            Run(id=run_id, name=f"Waits {number}", created_at=at, queue_position=number, run_dir=folder, **shared)
        )
    store.close()


def test_long_queue_hides_no_live_or_ended_run(page: Page, pitwall: Pitwall) -> None:
    page.goto(pitwall.url)
    cards = page.get_by_test_id("stMain").locator(".pw-cards")  # not those of the first look
    expect(cards).to_contain_text("Under way")
    expect(cards.locator("> *")).to_have_count(51)
    expect(page.get_by_role("link", name="Live view")).to_be_visible()
    expect(page.get_by_text("1 of 1 runs that have ended").first).to_be_visible()
    expect(page.get_by_text("No run has ended yet")).to_have_count(0)
    assert narrow_heads(page) == []
    link, accent = page.evaluate(LINK_AND_ACCENT)
    assert link == accent, "a link in markup has a colour of ours, not the browser's blue"


def test_disk_use_list_is_paged_and_searchable(open_page: Page, pitwall: Pitwall) -> None:
    """It goes on with the page of the test before where there is one."""
    visit(open_page, pitwall.url)
    press(open_page.get_by_text("Disk use and retention", exact=True))
    rows = open_page.get_by_role("table").filter(has_text="on disk").locator("tbody tr")
    expect(rows).to_have_count(20)
    press(open_page.get_by_role("button", name=f"Show all {QUEUED + 2}"))
    expect(rows).to_have_count(QUEUED + 2)
    expect(open_page).to_have_url(f"{pitwall.url}/?fold=disk&disk_rows=100")
    open_page.get_by_label("Find a run").fill(f"waits {QUEUED - 1}")
    open_page.get_by_label("Find a run").press("Enter")
    expect(rows).to_have_count(1)
    expect(open_page.get_by_text("1 match and take")).to_be_visible()
    open_page.reload()
    expect(current(open_page.get_by_label("Find a run"))).to_have_value(f"waits {QUEUED - 1}")
    expect(rows).to_have_count(1)
    rows.get_by_role("link").click()
    expect(open_page).to_have_url(f"{pitwall.url}/run?run=20261120-13{QUEUED - 1:04d}")
    open_page.go_back()
    expect(rows).to_have_count(1)


def narrow_heads(page: Page) -> list[str]:
    """The columns of numbers too narrow for their title, with the arrow of the order, in the font of the page."""
    titles = {f"{column['label']} \u2193": int(column["width"]) for column in COLUMNS.values() if NUMBER in str(column)}
    assert len(titles) >= 6
    expect(page.locator(GRID)).to_be_attached()
    value = page.evaluate(WIDTHS, [GRID, list(titles)])
    return [title for title, px in zip(titles, value, strict=True) if px + 2 * PADDING_PX > titles[title]]


def test_a_swatch_in_the_table_has_room_around_it() -> None:
    """An image is drawn as tall as its row: what fills the image touches the border of its cell."""
    svg = base64.b64decode(square("#0072B2").partition("base64,")[2]).decode()
    left, top, wide, high = map(float, re.findall(r'viewBox="([^"]+)"', svg)[0].split())
    [side] = {float(said) for said in re.findall(r'<rect width="(\d+)" height="(\d+)"', svg)[0]}
    assert left == top == -(wide - side) / 2 and wide == high and side <= 0.6 * wide


def test_phone_folds_filters_and_shows_the_selection_bar(page: Page, pitwall: Pitwall) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, pitwall.url)
    expect(page.get_by_text("1 of 1 runs that have ended").first).to_be_visible()
    find = page.get_by_label("Find", exact=True)
    expect(find).to_be_hidden()
    press(page.get_by_text("Filters and columns", exact=True))
    expect(find).to_be_visible()
    press(page.get_by_text("Filters and columns", exact=True))
    expect(find).to_be_hidden()
    page.locator("[data-testid=stDataFrame]").first.click(position={"x": TICK_PX, "y": HEAD_PX + ROW_PX / 2})
    bar = page.locator(".st-key-floating-selection")
    expect(bar).to_contain_text("1 selected")
    place = bar.bounding_box()
    assert place is not None and place["y"] + place["height"] == 844 and place["width"] == 390
    last = page.get_by_text("Links and changes", exact=True)
    last.scroll_into_view_if_needed()
    page.mouse.move(195, 300)
    page.mouse.wheel(0, 9_000)
    page.wait_for_function(
        "([bar, last]) => last.getBoundingClientRect().bottom < bar.getBoundingClientRect().top",
        arg=[bar.element_handle(), last.element_handle()],
    )
    press(page.get_by_role("button", name="Clear", exact=True))
    expect(bar).to_have_count(0)
