"""Compare with as many arms as it takes, in a wide window and on a phone, light and dark. Simulated engines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Page, ViewportSize, expect

from settings import Settings
from storage.store import Store
from tests.accessibility import broken_in_both_schemes
from tests.analysis.comparison.ideal_engine import IdealEngine
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from tests.e2e.page_at_rest import expect_whole
from tests.e2e.pitwall_process import Pitwall
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.timeout(600)]
ARMS, STARTS = 8, 3
WINDOWS: list[ViewportSize] = [{"width": 1400, "height": 900}, {"width": 390, "height": 844}]


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, with three starts each of eight arms."""
    pitwall = Pitwall(tmp_path_factory.mktemp("pitwall") / "data", free_ports(1)[0])
    store, rng = Store.open(Settings(data_dir=pitwall.data)), np.random.default_rng(3)
    for k in range(ARMS):
        engine = IdealEngine(0.02, drafts=k, start_sd=0.005)
        for number in range(STARTS):
            name = f"Qwen3-32B AWQ, n-gram speculation of {k} tokens #{number + 1}"
            stored(store, engine.run("ladder", rng, dict(SMALL)), k, 20 * k + number, name=name)
    store.close()
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


def is_wider_than_its_window(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def test_each_arm_answers_within_the_window(page: Page, pitwall: Pitwall) -> None:
    ids = [run_id for (run_id,) in pitwall.sql("SELECT run_id FROM runs ORDER BY run_id")]
    page.goto(f"{pitwall.url}/compare?" + "&".join(f"run={one}" for one in ids))
    told = list[str]()
    for size in WINDOWS:
        page.set_viewport_size(size)
        expect(page.locator(".pw-answer")).to_have_count(ARMS)  # one over all arms, and one of each but the baseline
        for k in range(1, ARMS):
            of_this_arm = page.locator(".pw-answer:not(.pw-overview)").filter(has_text=f"speculation of {k} tokens is")
            expect(of_this_arm).to_have_count(1)
        expect_whole(page.get_by_role("rowheader", name="Stream speed"))
        assert not is_wider_than_its_window(page), size
        told += [f"{size['width']} pixels, {one}" for one in broken_in_both_schemes(page)]
    assert told == []
