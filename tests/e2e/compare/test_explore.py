"""Groups on Runs and charts on Explore in a browser: folded out, clicked, kept, and brought back by the address."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.page_at_rest import expect_whole, press
from tests.e2e.pitwall_process import Pitwall, running_pitwall
from tests.e2e.seeds import seed_many

pytestmark = pytest.mark.browser
OUTPUT = "results.output_tps.mean"
LAST_POINT = ".js-plotly-plot .scatterlayer .trace:last-child .points path.point"


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, with 20 runs that have ended."""
    data = tmp_path_factory.mktemp("explore") / "data"
    seed_many(data)
    with running_pitwall(data) as pitwall:
        yield pitwall


def test_a_group_is_folded_out_and_the_address_brings_it_back(page: Page, pitwall: Pitwall) -> None:
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


def test_a_view_that_was_kept_leads_to_its_address(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/?group=quantization&speed=output")
    press(page.get_by_role("button", name="Views"))
    page.get_by_placeholder("a name for what is shown now").fill("by weights")
    press(page.get_by_role("button", name="Save this view"))
    expect(page.get_by_role("button", name="by weights", exact=True).first).to_be_visible()
    page.goto(pitwall.url)
    press(page.get_by_role("button", name="by weights", exact=True))
    expect(page.locator(".pw-group").first).to_contain_text("10 runs")
    expect(page).to_have_url(f"{pitwall.url}/?group=quantization&speed=output")
    page.go_back()
    expect(page.locator(".pw-group")).to_have_count(0)


def test_a_click_on_a_point_opens_its_run_and_back_brings_the_view(page: Page, pitwall: Pitwall) -> None:
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
