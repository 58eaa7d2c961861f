"""The report in docs/: it opens from the disk without a network, in both schemes, and its charts answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts.make_example_report import MOST_BYTES, TARGET
from tests.accessibility import broken_rules
from tests.e2e.page_at_rest import press

pytestmark = [pytest.mark.browser, pytest.mark.pages]
LINES = ".rp-chart >> nth=0 >> svg path.rp-grey"


def opened(browser: Browser, width: int, scheme: str) -> tuple[Page, list[str]]:
    """The page, and whatever it asked for or complained of."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)  # type: ignore[arg-type]
    page, heard = context.new_page(), list[str]()
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda one: heard.append(one.url) if one.url != TARGET.as_uri() else None)
    page.goto(TARGET.as_uri())
    return page, heard


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_offline(browser: Browser, width: int, scheme: str) -> None:
    page, heard = opened(browser, width, scheme)
    expect(page.locator(".pw-say")).to_have_count(3)  # over all arms, and of each but the baseline
    expect(page.locator(LINES)).to_have_count(9)  # server starts
    assert page.evaluate("document.documentElement.scrollWidth") <= width and heard == []
    assert broken_rules(page) == []
    light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert light == (scheme == "light")
    page.context.close()


def test_chart_zooms_hides_lines_shows_a_moment(browser: Browser) -> None:
    page, heard = opened(browser, 1400, "light")
    plot = page.locator(".rp-chart svg").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    attribute = page.locator(LINES).first.get_attribute("d")
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 60)
    expect(page.locator(".rp-readout").first).to_contain_text("Demo: no speculation #1")
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 60)
    page.mouse.up()
    assert page.locator(LINES).first.get_attribute("d") != attribute
    plot.dblclick()
    expect(page.locator(LINES).first).to_have_attribute("d", attribute or "")
    press(page.get_by_role("button", name="Demo: no speculation #1"))
    expect(page.locator(LINES)).to_have_count(8)
    assert heard == []
    page.context.close()


def test_report_is_small_without_machine_names() -> None:
    text = TARGET.read_text()
    assert len(text.encode()) <= MOST_BYTES and "/home/user/pitwall" in text
    assert not any(place in text for place in ("/tmp/", "/work/", "/root/"))
    assert "docs/example-report.html" in (Path(TARGET).parents[1] / "README.md").read_text()
