"""Groups on Runs and charts on Explore in a browser: folded out, clicked, kept, and brought back by the address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.e2e.page_at_rest import current, expect_whole, press, wait_for_rest
from tests.e2e.pitwall_process import Pitwall, running_pitwall
from tests.e2e.seeds import seed_many
from web.runs.table.run_table import HEAD_PX, ROW_PX

pytestmark = [pytest.mark.browser, pytest.mark.pages]
GRID = "[data-testid=stDataFrame]"
PAGE_SCROLLS, TABLE_SCROLLS = "[data-testid=stMain]", "[data-testid=stDataFrame] .dvn-scroller"
NAME_PX, NAME_END_PX = 80, 340  # of its column, where a name begins and where the column ends
TICK_PX = 16  # from the left edge of a table: where a row is ticked
STREAM_PX = 645  # likewise: in the head of "Stream, tok/s"
CELL_PX = 5000  # less than a cell of a small map has in a picture, more than its colour in the scale beside it
OUTPUT = "results.output_tps.mean"
# Timers of seconds fire 20 times a second, but only just after a press: a busy machine would never come to an end.
TIMERS_AT_EACH_PRESS = """
  const every = setInterval;
  let stopsAt = 0;
  addEventListener('pointerdown', () => { stopsAt = performance.now() + 250; }, true);
  const callIfSoon = (call) => () => performance.now() < stopsAt && call();
  setInterval = (call, ms) => ms < 1000 ? every(call, ms) : every(callIfSoon(call), 50);
"""
LAST_POINT = ".js-plotly-plot .scatterlayer .trace:last-child .points path.point"


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, with 20 runs that have ended."""
    data = tmp_path_factory.mktemp("explore") / "data"
    seed_many(data)
    with running_pitwall(data) as pitwall:
        yield pitwall


def test_folded_out_group_is_in_the_address(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/?group=arm")
    press(page.get_by_role("button", name="fp8 k=4"))
    expect(page).to_have_url(re.compile(r"group=arm&open=[0-9a-f]{12}$"))
    expect(page.get_by_text("3 of this group")).to_be_visible()
    page.reload()
    expect(page.get_by_text("3 of this group")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(f"{pitwall.url}/?group=arm")
    expect(page.get_by_text("3 of this group")).to_have_count(0)
    page.go_forward()
    expect(page.get_by_text("3 of this group")).to_be_visible()


def test_kept_view_leads_to_its_address(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/?group=quantization&speed=output")
    press(page.get_by_role("button", name="Views"))
    page.get_by_placeholder("a name for the current view").fill("by weights")
    press(page.get_by_role("button", name="Save this view"))
    expect(page.get_by_role("button", name="by weights", exact=True).first).to_be_visible()
    page.goto(pitwall.url)
    press(page.get_by_role("button", name="by weights", exact=True))
    expect(page.locator(".pw-group").first).to_contain_text("10 runs")
    expect(page).to_have_url(f"{pitwall.url}/?group=quantization&speed=output")
    page.go_back()
    expect(page.locator(".pw-group")).to_have_count(0)


def test_click_on_point_opens_run_back_restores(page: Page, pitwall: Pitwall) -> None:
    view = f"{pitwall.url}/explore?y={OUTPUT}&x=concurrency&color=k&find=bold"
    page.goto(view)
    expect_whole(page.locator(LAST_POINT))
    box = page.locator(LAST_POINT).first.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page).to_have_url(re.compile(r"/run\?run=20261120-"))
    expect(page.get_by_text("What happened")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(view)
    expect_whole(page.locator(LAST_POINT))
    expect(page.get_by_role("combobox", name="X axis")).to_have_value("Requests at once")
    press(page.get_by_role("button", name="Show the SQL"))
    press(page.get_by_role("link", name="Open on the SQL page"))
    expect(page.get_by_text(re.compile(r"^3 rows in"))).to_be_visible()
    page.go_back()
    expect(page.locator(LAST_POINT).first).to_be_visible()


def test_choices_are_in_one_row_until_the_filters_open(page: Page, pitwall: Pitwall) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto(f"{pitwall.url}/explore?y=ready&x=engine")
    expect_whole(page.locator(".js-plotly-plot"))
    axis, filters = page.get_by_label("X axis"), page.locator("summary", has_text="Which runs")
    row_px, filters_px = axis.bounding_box(), filters.bounding_box()
    assert row_px and filters_px and abs(row_px["y"] - filters_px["y"]) < row_px["height"]
    press(filters)
    expect(page.get_by_label("Find")).to_be_visible()
    wait_for_rest(page)
    below_px = filters.bounding_box()
    assert below_px and below_px["y"] >= row_px["y"] + row_px["height"] and below_px["width"] > 1000


def test_click_on_cell_lists_or_opens_runs(page: Page, pitwall: Pitwall) -> None:
    view = f"{pitwall.url}/explore?draw=heat&y={OUTPUT}&x=k&color=quantization"
    page.goto(view)
    expect_whole(page.locator(".lv-still .heatmaplayer image"))
    press_cell(page, 2 / 4, 1 / 3)
    expect(page).to_have_url(re.compile(r"&cell=2&cell=fp8$"))
    expect(page.get_by_text("3 in the cell Draft length k 2, Quantization fp8")).to_be_visible()
    page.reload()
    expect(page.get_by_text("3 in the cell")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(view)
    expect(page.get_by_text("3 in the cell")).to_have_count(0)
    wait_for_rest(page)
    press_cell(page, 1 / 4, 0)
    expect(page).to_have_url(re.compile(r"/run\?run=20261120-"))
    page.go_back()
    expect(page).to_have_url(view)
    expect_whole(page.locator(".lv-still .heatmaplayer image"))


def test_click_on_small_map_lists_its_runs(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/explore?draw=heat&y={OUTPUT}&x=k&color=engine&facet=quantization")
    expect_whole(page.locator(".lv-still .heatmaplayer image").nth(2))
    press_cell(page, 2 / 4, 0, of_map=1)
    expect(page).to_have_url(re.compile(r"&cell=2&cell=vLLM&cell=fp8$"))
    expect(page.get_by_text("3 in the cell Draft length k 2, Engine vLLM, Quantization fp8")).to_be_visible()
    for kind, shows in (("SVG", b' colorbar"'), ("CSV", b"fp8")):
        assert shows in saved_as(page, kind).read_bytes()
    picture = np.asarray(Image.open(saved_as(page, "PNG")).convert("RGB"), dtype=int)
    for end in ((0, 34, 78), (254, 232, 56)):  # of the scale: the slowest and the fastest cell
        assert (abs(picture - end).max(axis=2) < 4).sum() > CELL_PX, end


def saved_as(page: Page, kind: str) -> Path:
    press(page.get_by_label(re.compile("^Save the chart")))
    with page.expect_download() as caught:
        page.get_by_role("button", name=kind, exact=True).click()
    return caught.value.path()


def press_cell(page: Page, across: float, up: float, of_map: int = 0) -> None:
    """The cell whose left and lower edge are so far from the map's."""
    box = page.locator(".lv-still .heatmaplayer image").nth(of_map).bounding_box()
    assert box
    wait_for_rest(page)
    page.mouse.click(box["x"] + box["width"] * (across + 0.1), box["y"] + box["height"] * (1 - up - 0.1))


def test_navigation_returns_to_the_list_as_left(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/?find=bf16")
    compare = page.get_by_test_id("stMainBlockContainer").get_by_role("link", name="Compare", exact=True)
    grid = page.get_by_test_id("stDataFrame").first
    expect(page.get_by_text("9 of 20 runs that have ended")).to_be_visible()
    wait_for_rest(page)
    for row in range(2):
        grid.click(position={"x": TICK_PX, "y": HEAD_PX + ROW_PX * row + ROW_PX / 2})
        wait_for_rest(page)
    picked = re.compile(r"^compare\?run=[^&]+&run=[^&]+$")
    expect(compare).to_have_attribute("href", picked)
    press(page.get_by_role("link", name="SQL", exact=True).first)
    expect(page.get_by_role("button", name="Explain")).to_be_visible()
    press(page.get_by_role("link", name="Runs", exact=True).first)
    expect(page).to_have_url(f"{pitwall.url}/?find=bf16")
    expect(current(page.get_by_label("Find", exact=True))).to_have_value("bf16")
    expect(compare, "what was ticked is ticked").to_have_attribute("href", picked)
    press(page.get_by_role("link", name="Runs", exact=True).first)
    expect(page.get_by_text("20 of 20 runs that have ended")).to_be_visible()
    expect(current(page.get_by_label("Find", exact=True))).to_have_value("")
    wait_for_rest(page)  # Streamlit may lose what is set again while it still draws
    page.go_back()
    expect(current(page.get_by_label("Find", exact=True))).to_have_value("bf16")


def test_list_row_opens_here_and_ticks_by_keys(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/?find=bf16")
    overlay = page.get_by_role("link", name="Overlay on Live", exact=True)
    expect(page.get_by_text("9 of 20 runs that have ended")).to_be_visible()
    wait_for_rest(page)
    before = page.evaluate("history.length")
    for x in (NAME_PX, NAME_END_PX):  # on the letters and beside them
        page.locator(GRID).first.click(position={"x": x, "y": HEAD_PX + ROW_PX / 2})
        expect(page).to_have_url(re.compile(r"/run\?run=20261120-000017-000-seed$"))
        expect(page.get_by_text("What happened")).to_be_visible()
        assert page.evaluate("history.length") == before + 1 and len(page.context.pages) == 1
        page.go_back()
        expect(current(page.get_by_label("Find", exact=True))).to_have_value("bf16")
        wait_for_rest(page)
    page.locator(f"{GRID} canvas").first.focus()
    go_down(page, 1)
    page.keyboard.press("Space")
    expect(overlay).to_have_attribute("href", "live?run=20261120-000016-000-seed")
    wait_for_rest(page)
    go_down(page, 2)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/run\?run=20261120-000015-000-seed$"))
    page.go_back()
    expect(overlay, "what was ticked is ticked").to_have_attribute("href", "live?run=20261120-000016-000-seed")


def test_head_press_sorts_all_with_unknown_last(page: Page, pitwall: Pitwall) -> None:
    """Streamlit's own sorting has the unknown first, and knows no runs but those shown."""
    rows, table = page.locator(f"{GRID} tbody tr"), page.locator(GRID).first
    overlay = page.get_by_role("link", name="Overlay on Live", exact=True)
    page.goto(pitwall.url)
    expect(rows.first).to_contain_text("#did not start")
    wait_for_rest(page)
    table.click(position={"x": TICK_PX, "y": HEAD_PX + ROW_PX / 2})
    expect(overlay).to_be_visible()
    for _ in range(2):
        press_heads(page, pitwall)
        expect(rows.last, "not known, either way").to_contain_text("#did not start")
        expect(overlay, "what was ticked is ticked").to_be_visible()
    page.go_back()
    expect(rows.first).to_contain_text("#fp8 k=4 #3")


def test_head_press_beside_timers_of_the_page(kept_page: Page, pitwall: Pitwall) -> None:
    """Parts of the page are drawn again every few seconds, at times in the moment of a press."""
    page = kept_page.context.new_page()
    page.add_init_script(TIMERS_AT_EACH_PRESS)
    page.goto(pitwall.url)
    expect(page.locator(f"{GRID} tbody tr").first).to_contain_text("#did not start")
    for _ in range(3):
        press_heads(page, pitwall)
    page.close()


def press_heads(page: Page, pitwall: Pitwall) -> None:
    """Press a head twice: the fastest run comes first, then the slowest."""
    rows, table = page.locator(f"{GRID} tbody tr"), page.locator(GRID).first
    for address, first in (("?order=stream", "#fp8 k=4 #3"), ("?order=stream&reversed=1", "#<b>bold")):
        wait_for_rest(page)
        table.click(position={"x": STREAM_PX, "y": HEAD_PX / 2})
        expect(page).to_have_url(f"{pitwall.url}/{address}")
        expect(rows.first).to_contain_text(first)


def go_down(page: Page, row: int) -> None:
    page.keyboard.press("ArrowDown")
    expect(page.locator(f"{GRID} canvas td:focus")).to_have_id(re.compile(rf"-{row}$"))


def test_scroll_is_kept_after_back_and_reload(page: Page, pitwall: Pitwall) -> None:
    page.set_viewport_size({"width": 1400, "height": 560})
    page.goto(pitwall.url)
    tops = f"() => {[PAGE_SCROLLS, TABLE_SCROLLS]}.map((one) => document.querySelector(one)?.scrollTop)"
    expect(page.get_by_text("20 of 20 runs that have ended")).to_be_visible()
    expect(page.locator(TABLE_SCROLLS).first).to_be_attached()
    wait_for_rest(page)
    assert page.evaluate(tops) == [0, 0]
    page.evaluate(f"document.querySelector('{TABLE_SCROLLS}').scrollTo(0, 210)")
    page.evaluate(f"document.querySelector('{PAGE_SCROLLS}').scrollTo(0, 130)")
    for _ in range(2):
        press(page.get_by_role("link", name="SQL", exact=True).first)
        expect(page.get_by_role("button", name="Explain")).to_be_visible()
        wait_for_rest(page)
        assert page.evaluate(tops)[0] == 0, "another page begins at its top"
        page.go_back()
        page.wait_for_function(f"() => `${{({tops})()}}` === '130,210'")
    page.reload()
    page.wait_for_function(f"() => `${{({tops})()}}` === '130,210'")
