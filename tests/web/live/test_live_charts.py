"""The charts of the Live component in a real Chromium: their place, height, points and marked moments."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import PATIENCE_MS
from tests.web.live.test_live_browser import DECODE, Harness, open_live, wait_for_ticks
from tests.web.live.test_live_browser import harness as harness
from tests.web.live.test_live_browser import kept_page as kept_page
from tests.web.live.test_live_browser import page as page

pytestmark = [pytest.mark.browser, pytest.mark.pages]


BLINK = """() => {
  window.blinking = [...document.querySelectorAll(".lv-plot")].slice(1).map((plot, number) =>
    setInterval(() => { plot.style.display = plot.style.display ? "" : "none"; }, 130 + 30 * number));
}"""
STOP_BLINKING = """() => {
  window.blinking.forEach(clearInterval);
  document.querySelectorAll(".lv-plot").forEach((plot) => { plot.style.display = ""; });
}"""
TIMES = "[...document.querySelectorAll('.lv-plot')].flatMap(plot => plot.data ?? []).map(trace => trace.x)"


def test_chart_shown_amid_ticks_has_points_once(page: Page, harness: Harness) -> None:
    page.set_viewport_size({"width": 1400, "height": 2600})
    open_live(page, harness, "live-1", "live-2")
    page.evaluate(BLINK)
    for _ in range(2):
        wait_for_ticks(page)
    page.evaluate(STOP_BLINKING)
    wait_for_ticks(page)
    for times in page.evaluate(TIMES):
        assert times == sorted(set(times))


def test_moment_is_marked_on_all_charts_and_log(page: Page, harness: Harness) -> None:
    open_live(page, harness, "live-1", "ghost-0")
    page.locator(".lv-wide .nsewdrag").hover()
    page.wait_for_function("() => document.querySelectorAll('.lv-moment:not([hidden])').length >= 3")
    expect(page.locator(".lv-at")).to_contain_text("at ")
    expect(page.locator(".lv-at-moment")).to_have_count(2)
    page.locator(".lv-wide .lv-plot").focus()
    page.keyboard.press("Escape")
    expect(page.locator(".lv-moment:not([hidden])")).to_have_count(0)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.querySelectorAll('.lv-moment:not([hidden])').length >= 3")


CHART_BELOW_STRIP = """() => document.querySelector('.lv-wide').getBoundingClientRect().top
  - document.querySelector('.lv-strip').getBoundingClientRect().top"""


ROWS_OF_STRIP = """() => new Set([...document.querySelector('.lv-strip').children]
  .filter((chip) => chip.getBoundingClientRect().height > 0).map((chip) => chip.getBoundingClientRect().top)).size"""


@pytest.mark.parametrize(("count", "height_px"), [(2, 80), (8, 96)])  # the state has a line of its own in narrow chips
def test_chart_begins_below_one_row_of_runs(page: Page, harness: Harness, count: int, height_px: int) -> None:
    open_live(page, harness, *(f"live-{number}" for number in range(count)))
    assert page.evaluate(ROWS_OF_STRIP) == 1
    assert page.evaluate(CHART_BELOW_STRIP) < height_px


GEOMETRY = """() => [...document.querySelectorAll('.lv-chart:not([hidden])')].flatMap((chart) => {
  const title = chart.querySelector('h3');
  return [chart.getBoundingClientRect().top, title.clientWidth, title.scrollWidth];
})"""


def test_marked_moment_moves_no_chart_or_title(page: Page, harness: Harness) -> None:
    open_live(page, harness, "ghost-0", "ghost-1", "ghost-2", "long", "failed")
    before = page.evaluate(GEOMETRY)
    page.locator(".lv-wide .nsewdrag").hover()
    expect(page.locator(".lv-at")).to_contain_text("at ")
    expect(page.locator(".lv-wide .lv-readout")).to_contain_text("mtp4-kv-fp8-1")
    assert page.evaluate(GEOMETRY) == before


def test_the_height_follows_a_zoom(page: Page, harness: Harness) -> None:
    """The longer run is lower in the stretch after the other's end."""
    open_live(page, harness, "ghost-0", "ghost-2")
    value = page.evaluate(f"{DECODE}._fullLayout.yaxis.range[1]")
    zoomed = "Plotly.relayout({0}, {{'xaxis.range[0]': 8, 'xaxis.range[1]': 20}})"
    lowest = (
        f"Math.max(...{DECODE}.data.flatMap(({{x, y}}) => x.flatMap((at, i) => at >= 8 && at <= 20 ? [y[i]] : [])))"
    )
    page.evaluate(zoomed.format(DECODE))
    page.wait_for_function(f"() => {DECODE}._fullLayout.yaxis.autorange !== true")
    assert page.evaluate(f"{DECODE}._fullLayout.yaxis.range") == pytest.approx([0, page.evaluate(lowest) * 1.06])
    page.get_by_role("button", name="Reset zoom").click()
    page.wait_for_function(f"() => Math.abs({DECODE}._fullLayout.yaxis.range[1] - {value}) < 1e-6")


def test_flags_tell_what_happened_and_mark_its_moment(page: Page, harness: Harness) -> None:
    open_live(page, harness, "ghost-0", "ghost-1")
    flag = page.get_by_role("group", name="Events").get_by_role("button").first
    flag.hover()
    expect(page.locator(".lv-wide .lv-flag-text")).to_contain_text("load five-prompts begins")
    page.wait_for_function("() => document.querySelectorAll('.lv-moment:not([hidden])').length >= 3")
    page.mouse.move(5, 5)
    expect(page.locator(".lv-wide .lv-flag-text")).to_be_hidden()
    flag.focus()
    expect(page.locator(".lv-wide .lv-flag-text")).to_be_visible()
    assert page.evaluate(f"{DECODE}.layout.shapes.length") == 0, "no line runs through the plot"


def test_a_line_is_named_at_its_end(page: Page, harness: Harness) -> None:
    open_live(page, harness, "ghost-1", "ghost-2")
    names = page.locator(".lv-wide .lv-line-names span")
    expect(names).to_have_count(2)
    assert sorted(names.all_inner_texts()) == ["mtp4-kv-fp8-1", "mtp4-kv-fp8-2"], "in the order of their ends"
    assert page.locator(".lv-wide .lv-plot-body").bounding_box()["height"] == 320  # type: ignore[index]


def test_a_finger_scrolls_the_page_over_a_chart(browser: Browser, harness: Harness) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    open_live(page, harness, "live-1", "ghost-0")
    actions = "[...document.querySelectorAll('.lv-wide .lv-plot *')].map((one) => getComputedStyle(one).touchAction)"
    assert set(page.evaluate(actions)) == {"pan-y"}
    assert page.evaluate(f"{DECODE}._fullLayout.dragmode") is False
    context.close()
