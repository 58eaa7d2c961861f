"""Charts that have no time axis, in a browser: one of each kind, its bundle, its colours, its files and its keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.page_at_rest import expect_whole, press, visit, wait_for_rest
from tests.e2e.pitwall_process import Pitwall, running_pitwall
from tests.e2e.seeds import seed_many
from web.theme import RUN_COLORS

pytestmark = [pytest.mark.browser, pytest.mark.pages]
OUTPUT = "results.output_tps.mean"
PLOT = ".lv-still .lv-plot.js-plotly-plot"
TYPES = f"document.querySelector('{PLOT}')._fullData.map((one) => one.type)"  # as drawn: what a bundle lacks is scatter
SCALES = f"['yaxis', 'yaxis2'].map((one) => document.querySelector('{PLOT}')._fullLayout[one].type)"
# Words are bright on a dark ground: the first number of 'color(srgb 0.9 0.9 0.9 / 0.75)'.
CAPTION_RED = """(isBright) => {
  const caption = document.querySelector('[data-testid=stPopoverBody] [data-testid=stCaptionContainer] p');
  const [red] = getComputedStyle(caption).color.match(/[\\d.]+/).map(Number);
  return (red > 0.5) === isBright;
}"""


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, with 20 runs that have ended."""
    data = tmp_path_factory.mktemp("still") / "data"
    seed_many(data)
    with running_pitwall(data) as pitwall:
        yield pitwall


def explore(page: Page, pitwall: Pitwall, draw: str = "scatter") -> None:
    visit(page, f"{pitwall.url}/explore?draw={draw}&y={OUTPUT}&x=concurrency&color=k&find=bold")
    expect_whole(page.locator(f"{PLOT} .main-svg"))


@pytest.mark.parametrize(
    ("draw", "kind", "bundle"),
    [
        ("scatter", "scatter", "basic"),
        ("line", "scatter", "basic"),
        ("distribution", "box", "cartesian"),
        ("heat", "heatmap", "cartesian"),
    ],
)
def test_smallest_bundle_draws_each_chart_kind(page: Page, pitwall: Pitwall, draw: str, kind: str, bundle: str) -> None:
    texts: list[str] = []
    page.on("request", lambda request: texts.extend(re.findall(r"plotly-(\w+)\.min", request.url)))
    explore(page, pitwall, draw)
    assert set(page.evaluate(TYPES)) == {kind}
    assert texts == [bundle]
    assert page.locator(".modebar").count() == 0 and page.locator(".stPlotlyChart").count() == 0
    expect(page.get_by_role("group", name=re.compile("by Requests at once"))).to_be_visible()


def test_colours_follow_the_background_at_once(open_page: Page, pitwall: Pitwall) -> None:
    open_page.emulate_media(color_scheme="light")
    explore(open_page, pitwall)
    for scheme in ("dark", "light"):
        open_page.emulate_media(color_scheme=scheme)
        open_page.wait_for_function(
            f"(wanted) => document.querySelector('{PLOT}').data[0].marker?.color === wanted",  # a heat map has none
            arg=RUN_COLORS[scheme][0],  # type: ignore[index]
        )


def test_open_popover_text_follows_background(open_page: Page, pitwall: Pitwall) -> None:
    open_page.emulate_media(color_scheme="light")
    explore(open_page, pitwall)
    press(open_page.get_by_role("button", name="Show the SQL"))
    expect(open_page.get_by_test_id("stPopoverBody").get_by_test_id("stCaptionContainer")).to_be_visible()
    for scheme in ("light", "dark", "light"):
        open_page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        open_page.wait_for_function(CAPTION_RED, arg=scheme == "dark")


def test_it_is_saved_as_png_svg_and_csv(open_page: Page, pitwall: Pitwall, tmp_path: Path) -> None:
    explore(open_page, pitwall)
    fields = {}
    for kind in ("PNG", "SVG", "CSV"):
        open_page.get_by_label(re.compile("^Save the chart")).click()
        with open_page.expect_download() as caught:
            open_page.locator(".lv-still").get_by_role("button", name=kind).click()
        caught.value.save_as(tmp_path / kind)
        fields[kind] = (tmp_path / kind).read_bytes()
    assert fields["PNG"].startswith(b"\x89PNG") and b"<svg" in fields["SVG"]
    head, *rows = fields["CSV"].decode().splitlines()
    assert head.startswith("name,x,y,value") and len(rows) == 3


def test_keyboard_walks_points_and_opens_a_run(open_page: Page, pitwall: Pitwall) -> None:
    explore(open_page, pitwall)
    open_page.locator(PLOT).focus()
    open_page.keyboard.press("ArrowRight")
    expect(open_page.locator(".lv-still .lv-readout")).to_contain_text("at ")
    open_page.keyboard.press("Enter")
    expect(open_page).to_have_url(re.compile(r"/run\?run=20261120-"))


RANGE = f"(document.querySelector('{PLOT}')?._fullLayout?.xaxis.range ?? [0, 0])"


def test_zoom_is_in_address_without_back_step(page: Page, pitwall: Pitwall) -> None:
    view = f"{pitwall.url}/explore?y={OUTPUT}&x=k"
    page.goto(view)
    expect_whole(page.locator(f"{PLOT} .main-svg"))
    value, before = page.evaluate(RANGE), page.evaluate("history.length")
    drag_across(page, 0.25, 0.75)
    expect(page).to_have_url(re.compile(r"&zoom-explore-scatter-[0-9a-f]{8}=[\d.]+_[\d.]+__$"))
    zoomed, at = page.evaluate(RANGE), page.url
    assert page.evaluate("history.length") == before and zoomed[0] > value[0] and zoomed[1] < value[1]
    page.reload()
    expect_range(page, zoomed)
    expect(page).to_have_url(at)
    wait_for_rest(page)
    across = page.get_by_role("combobox", name="X axis")
    across.fill("Engine version")
    across.press("Enter")
    expect(page, "what is zoomed into is of other axes").to_have_url(f"{pitwall.url}/explore?y={OUTPUT}&x=version")
    page.go_back()
    expect(page).to_have_url(at)
    expect_range(page, zoomed)
    wait_for_rest(page)
    page.locator(f"{PLOT} .nsewdrag").first.dblclick()
    expect(page).to_have_url(view)
    expect_range(page, value)


def test_logarithmic_height_is_in_the_address(page: Page, pitwall: Pitwall) -> None:
    view = f"{pitwall.url}/explore?y={OUTPUT}&x=k&facet=quantization"
    page.goto(view)
    expect_whole(page.locator(f"{PLOT} .main-svg"))
    scale = page.get_by_role("button", name="Log", exact=True)
    for is_log in (True, False):
        press(scale)
        expect(page).to_have_url(re.compile(r"&scale-explore-scatter-[0-9a-f]{8}=log$") if is_log else view)
        for _ in range(2 if is_log else 1):
            expect(scale).to_have_attribute("aria-pressed", str(is_log).lower())
            kinds = page.evaluate(
                f"['yaxis', 'yaxis2'].map((one) => document.querySelector('{PLOT}')._fullLayout[one].type)"
            )
            assert kinds == (["log", "log"] if is_log else ["linear", "linear"])
            if is_log:
                page.reload()
                expect_whole(page.locator(f"{PLOT} .main-svg"))
    explore(page, pitwall, "heat")
    expect(scale).to_have_count(0)


def drag_across(page: Page, start: float, end: float) -> None:
    """A stretch of the horizontal axis, by parts of the plot."""
    box = page.locator(f"{PLOT} .nsewdrag").first.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, middle, steps=4)
    page.mouse.up()


def expect_range(page: Page, values: list[float]) -> None:
    is_shown = "(wanted) => {range}.every((end, place) => Math.abs(end - wanted[place]) < 1e-6)"
    page.wait_for_function(is_shown.format(range=RANGE), arg=values)
