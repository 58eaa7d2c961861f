"""The repeats of an arm over time on Compare: their mean, and the interval over runs as a band, in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.pitwall_process import Pitwall, running_pitwall
from tests.e2e.seeds import seed_time_series

pytestmark = [pytest.mark.browser, pytest.mark.pages]
NAMES = {"Twice #1": 100.0, "Twice #2": 110.0, "Once": 160.0}
DRAWN = "document.querySelector('.lv-wide .lv-plot')?.data?.map((trace) => trace.name)"


@pytest.fixture(scope="module")
def ids() -> list[str]:
    return []


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory, ids: list[str]) -> Iterator[Pitwall]:
    data = tmp_path_factory.mktemp("pitwall") / "data"
    ids += seed_time_series(data, 600, NAMES)
    with running_pitwall(data) as pitwall:
        yield pitwall


def test_repeats_have_a_band_and_legend_says_none(page: Page, pitwall: Pitwall, ids: list[str]) -> None:
    page.goto(f"{pitwall.url}/compare?{'&'.join(f'run={one}' for one in ids)}")
    page.locator(".lv-toolbar").scroll_into_view_if_needed()
    page.wait_for_function(f"() => {DRAWN}?.includes('Twice: 95 % interval over runs')")
    assert [name for name in page.evaluate(DRAWN) if ":" in name] == ["Twice: 95 % interval over runs", "Twice: mean"]
    mean = page.evaluate("document.querySelector('.lv-wide .lv-plot').data.at(-1).y.filter(Boolean)")
    assert min(mean) > 90 and 5 * 105 >= max(mean) > 105, "of both runs"
    keys = page.locator(".lv-key")
    expect(keys.nth(0)).to_contain_text("mean of 2 runs; band: 95 % interval over runs")
    expect(keys.nth(1)).to_contain_text("one run: no band")
