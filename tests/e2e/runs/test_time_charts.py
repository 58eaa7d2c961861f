"""The charts over time of Run and Compare in a real Chromium: the ones of Live, of runs that have ended."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, ViewportSize, expect

from tests.accessibility import broken_at_each_size
from tests.e2e.conftest import signed_in
from tests.e2e.page_at_rest import press, visit
from tests.e2e.pitwall_process import Pitwall, running_pitwall
from tests.e2e.seeds import BEGAN, seed_time_series
from tests.saved_charts import saved_chart

pytestmark = [pytest.mark.browser, pytest.mark.pages]
SECONDS = 3600
WINDOWS: list[ViewportSize] = [{"width": 1400, "height": 900}, {"width": 390, "height": 844}]
PEAK_S = SECONDS / 2 - 10  # since ready
FAST, SLOW = "Quick one", "Slow one"
PLOTS = "[...document.querySelectorAll('.lv-plot')].filter((plot) => plot.data)"
DECODE = "document.querySelector('.lv-wide .lv-plot')"
AXES = f"{PLOTS}.map((plot) => plot._fullLayout.xaxis.range)"
CHARTS_PX = 2600  # high enough for all charts
DRAWN = f"() => {DECODE}?.data?.[0]?.x.length > 0"
STEPS = f"""() => {{
  const {{ x }} = {DECODE}.data[0];
  const [from, to] = {DECODE}._fullLayout.xaxis.range;
  const shown = x.filter((at) => at >= from && at <= to);
  return Math.max(...shown.slice(1).map((at, index) => at - shown[index]));
}}"""


@pytest.fixture(scope="module")
def ids() -> list[str]:
    return []


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory, ids: list[str]) -> Iterator[Pitwall]:
    """Up, with two runs of an hour that were looked at every second."""
    data = tmp_path_factory.mktemp("pitwall") / "data"
    ids += seed_time_series(data, SECONDS, {SLOW: 100.0, FAST: 160.0})
    with running_pitwall(data) as pitwall:
        yield pitwall


def open_run(page: Page, pitwall: Pitwall, run_id: str, more: str = "") -> None:
    visit(page, f"{pitwall.url}/run?run={run_id}{more}")
    show_charts(page)


def show_charts(page: Page) -> None:
    """A chart is drawn when it comes into sight."""
    size = page.viewport_size
    assert size
    page.set_viewport_size({"width": size["width"], "height": CHARTS_PX})
    page.locator(".lv-chart").first.scroll_into_view_if_needed()
    page.wait_for_function(DRAWN)


def drag(page: Page, *, over: tuple[float, float]) -> None:
    """Over a part of the decode chart's width."""
    page.locator(".lv-wide .nsewdrag").scroll_into_view_if_needed()
    box = page.locator(".lv-wide .nsewdrag").bounding_box()
    assert box is not None
    at = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + over[0] * box["width"], at)
    page.mouse.down()
    page.mouse.move(box["x"] + over[1] * box["width"], at, steps=8)
    page.mouse.up()


def test_brush_zooms_all_charts_to_seconds(page: Page, pitwall: Pitwall, ids: list[str]) -> None:
    """The charts hide a thousandth of the hour at most, and never the one fast second."""
    open_run(page, pitwall, ids[0])
    whole = page.evaluate(AXES)[0]
    thinned = page.evaluate(f"{DECODE}.data[1].y")
    assert len(thinned) < SECONDS / 3 and max(filter(None, thinned)) == pytest.approx(500)
    assert page.evaluate(STEPS) > 1
    drag(page, over=(0.1, 0.2))
    page.wait_for_function(f"() => ({STEPS})() === 1")
    zoomed = page.evaluate(AXES)
    assert len(zoomed) >= 3 and all(one == zoomed[0] for one in zoomed) and zoomed[0] != whole
    assert page.evaluate(f"{DECODE}._fullLayout.yaxis.range[1]") < 200, "the height is that of the stretch"
    expect(page).to_have_url(re.compile(r"from=[\d.]+&to=[\d.]+"))
    assert "Shift-drag" in (page.locator(".lv-wide h3").get_attribute("title") or "")
    page.keyboard.down("Shift")
    drag(page, over=(0.6, 0.4))
    page.keyboard.up("Shift")
    moved, span = page.evaluate(AXES)[0], zoomed[0][1] - zoomed[0][0]
    assert moved[1] - moved[0] == pytest.approx(span) and moved[0] - zoomed[0][0] == pytest.approx(span / 5, rel=0.05)
    page.locator(".lv-wide .nsewdrag").dblclick()
    page.wait_for_function(f"() => {DECODE}._fullLayout.xaxis.range[1] === {whole[1]}")
    page.wait_for_function(f"() => ({STEPS})() > 1")


def test_address_opens_its_stretch_in_detail(page: Page, pitwall: Pitwall, ids: list[str]) -> None:
    open_run(page, pitwall, ids[0], f"&from={PEAK_S - 20:.0f}&to={PEAK_S + 20:.0f}&scale=log")
    page.wait_for_function(f"() => ({STEPS})() === 1")
    assert page.evaluate(AXES)[0] == [PEAK_S - 20, PEAK_S + 20]
    assert page.evaluate(f"{DECODE}.layout.yaxis.type") == "log"


def test_address_opens_its_stretch_when_the_data_come_late(page: Page, pitwall: Pitwall, ids: list[str]) -> None:
    """The library that draws is there first: the detail was requested of no run, and never again."""

    def answer_late(route: Route) -> None:
        time.sleep(3)
        route.continue_()

    page.route("**/series?*", answer_late, times=1)
    open_run(page, pitwall, ids[0], f"&from={PEAK_S - 20:.0f}&to={PEAK_S + 20:.0f}")
    page.wait_for_function(f"() => ({STEPS})() === 1")


def test_one_moment_is_marked_on_all_charts(page: Page, pitwall: Pitwall, ids: list[str]) -> None:
    open_run(page, pitwall, ids[0])
    page.locator(".lv-wide .nsewdrag").hover()
    page.wait_for_function(f"() => {PLOTS}.length >= 3")
    page.wait_for_function(
        f"() => document.querySelectorAll('.lv-moment:not([hidden])').length === {PLOTS}.filter((one) => "
        "!one.closest('.lv-chart').hidden).length"
    )
    expect(page.locator(".lv-wide .lv-readout")).to_have_text(re.compile(r"\d+"))  # one run needs no name


def test_what_happened_is_marked_and_said(page: Page, pitwall: Pitwall, ids: list[str]) -> None:
    open_run(page, pitwall, ids[0], "&from=880&to=900")
    flags = page.locator(".lv-wide .lv-flag").evaluate_all("(flags) => flags.map((flag) => flag.ariaLabel)")
    assert flags == ["14:50: the hardware limits the GPU's clocks"]
    page.locator(".lv-wide .nsewdrag").hover()  # its middle
    expect(page.locator(".lv-at")).to_have_text("at 14:50: the hardware limits the GPU's clocks")


def test_run_chart_is_saved_with_its_samples(page: Page, pitwall: Pitwall, ids: list[str], tmp_path: Path) -> None:
    open_run(page, pitwall, ids[0])
    saved = saved_chart(page, "Decode speed", tmp_path)
    assert saved["PNG"].startswith(b"\x89PNG") and b"Decode speed" in saved["SVG"]
    rows = list(csv.DictReader(saved["CSV"].decode().splitlines()))
    assert (rows[0]["run_id"], rows[0]["name"]) == (ids[0], SLOW) and rows[0]["time"].startswith("2026-11-20T12:")
    assert len(rows) < SECONDS / 3 and sum(int(row["samples"]) for row in rows) == SECONDS - 1, "each says how many"


def test_compare_legend_hides_and_isolates_arms(page: Page, pitwall: Pitwall, ids: list[str]) -> None:
    page.goto(f"{pitwall.url}/compare?run={ids[0]}&run={ids[1]}")
    show_charts(page)
    names = f"[...new Set({DECODE}.data.map((trace) => trace.name))]"
    assert page.evaluate(names) == [SLOW, FAST]
    press(page.get_by_role("button", name=f"Hide {SLOW} in the charts"))
    page.wait_for_function(f"() => {names}.join() === '{FAST}'")
    press(page.get_by_role("button", name=f"Show only {SLOW} in the charts"))
    page.wait_for_function(f"() => {names}.join() === '{SLOW}'")
    expect(page).to_have_url(re.compile(f"hide={ids[1]}$"))
    page.reload()
    show_charts(page)
    assert page.evaluate(names) == [SLOW]
    expect(page.locator(".lv-still").get_by_text("Decode speed")).to_have_count(0)


def test_guest_link_shows_charts_of_its_run_only(
    browser: Browser, page: Page, pitwall: Pitwall, ids: list[str]
) -> None:
    page.goto(f"{pitwall.url}/run?run={ids[0]}")
    press(page.get_by_role("button", name="Share", exact=True))
    press(page.get_by_role("button", name="Make a link"))
    link = page.get_by_role("dialog").locator("code", has_text="/share/").first.inner_text()
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    guest = context.new_page()
    guest.goto(link)
    show_charts(guest)
    assert context.request.get(f"{pitwall.url}/series?run={ids[0]}").ok
    assert context.request.get(f"{pitwall.url}/series?run={ids[1]}").status == 404
    context.close()
    assert httpx.get(f"{pitwall.url}/series?run={ids[0]}").status_code in (401, 403)


def test_no_rule_of_wcag_aa_is_broken(page: Page, pitwall: Pitwall, ids: list[str]) -> None:
    told = list[str]()
    text = f"run={ids[0]}&run={ids[1]}"
    for path in (f"run?run={ids[0]}", f"compare?{text}", f"live?{text}"):
        visit(page, f"{pitwall.url}/{path}")
        show_charts(page)
        told += [f"{path}, {one}" for one in broken_at_each_size(page, WINDOWS)]
    assert told == []


def test_what_is_no_stretch_is_refused_in_words(browser: Browser, pitwall: Pitwall, ids: list[str]) -> None:
    context = signed_in(browser, pitwall)
    began = BEGAN.timestamp()
    for stretch in ("from=1", f"from={began}&to=x", f"from={began}&to=1e400", "from=nan&to=nan", "from=1&from=2&to=3"):
        answer = context.request.get(f"{pitwall.url}/series?run={ids[0]}&{stretch}")
        assert (answer.status, "seconds since the epoch" in answer.text()) == (400, True), stretch
    context.close()
