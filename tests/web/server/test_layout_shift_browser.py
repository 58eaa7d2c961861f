"""Nothing jumps while a page comes (what Chromium calls layout shift), and what has its place can be read by then."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.e2e.conftest import signed_in
from tests.e2e.page_at_rest import waiting_for_ever
from tests.e2e.pitwall_process import Pitwall
from tests.e2e.seeds import seed_time_series
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.pages]
GOOD = 0.1  # of web.dev's 'cumulative layout shift'
GOAL = 0.02  # of Pitwall's own pages on a wide screen
PATIENCE = "const GIVE_UP_MS = 5000;"
TABLE_CODE = "**/DataFrame.*.js"
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
WATCH = """
window.shifts = [];
new PerformanceObserver((list) => window.shifts.push(...list.getEntries().filter((one) => !one.hadRecentInput)
  .map((one) => [one.value, ...one.sources.map(({ node }) => node?.className ?? "gone")])))
  .observe({ type: "layout-shift", buffered: true });
"""


@pytest.fixture(scope="module")
def runs() -> list[str]:
    return []


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory, runs: list[str]) -> Iterator[Pitwall]:
    pitwall = Pitwall(tmp_path_factory.mktemp("pitwall") / "data", free_ports(1)[0])
    runs += seed_time_series(pitwall.data, 120, {"A": 100.0, "A #2": 101.0, "B": 150.0, "B #2": 151.0})
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


@pytest.mark.parametrize(("path", "last"), [("launch", "Launch"), ("compare", "Over time since ready")])
def test_nothing_jumps_while_it_comes(
    browser: Browser, pitwall: Pitwall, runs: list[str], path: str, last: str
) -> None:
    """On a phone, where the two had moved most: by 0.68 and 0.77."""
    context = signed_in(browser, pitwall, **PHONE)
    page = context.new_page()
    page.add_init_script(WATCH)
    page.route("**/reveal_page.js", waiting_for_ever(PATIENCE))
    page.goto(f"{pitwall.url}/{path}?" + "&".join(f"run={run_id}" for run_id in runs))
    expect(page.get_by_text(last, exact=True).first).to_be_visible()
    shifts = page.evaluate("window.shifts")
    assert sum(value for value, *_ in shifts) < GOOD, shifts
    context.close()


def test_content_above_a_loading_piece_readable(browser: Browser, pitwall: Pitwall) -> None:
    context = signed_in(browser, pitwall)
    page = context.new_page()
    page.route("**/reveal_page.js", waiting_for_ever(PATIENCE))
    routes: list[Route] = []
    page.route(TABLE_CODE, lambda route: routes.append(route))
    page.goto(pitwall.url)
    below = page.get_by_text("Disk use and retention", exact=True)
    expect(below).to_be_attached()
    expect(page.get_by_role("heading", name="Finished runs")).to_be_visible()
    expect(page.get_by_role("textbox", name="Find", exact=True)).to_be_visible()
    assert routes and not below.is_visible()
    for route in routes:
        route.continue_()
    expect(below).to_be_visible()
    context.close()


def test_late_charts_move_nothing_in_sight(browser: Browser, pitwall: Pitwall, runs: list[str]) -> None:
    """The code of the charts comes after what stands below them."""
    context = signed_in(browser, pitwall, viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.add_init_script(WATCH)
    routes: list[Route] = []
    page.route("**/live/run_charts.js", lambda route: routes.append(route))
    page.goto(f"{pitwall.url}/run?run={runs[0]}")
    expect(page.get_by_role("heading", name="Physics")).to_be_attached()
    expect(page.get_by_role("heading", name="Configuration")).to_be_attached()
    assert routes
    for route in routes:
        route.continue_()
    page.wait_for_selector(".lv-plot .main-svg")
    shifts = page.evaluate("window.shifts")
    assert sum(value for value, *_ in shifts) < GOAL, shifts
    context.close()
