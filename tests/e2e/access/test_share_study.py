"""Links to a study and to reports: a guest sees what they name and nothing else, and can take it away as one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from domain import RunState
from settings import Settings
from storage.store import Store
from tests.accessibility import broken_in_both_schemes
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from tests.e2e.page_at_rest import current, expect_whole, press
from tests.e2e.pitwall_process import Pitwall
from tests.e2e.seeds import seed_finished
from tests.ports import free_ports
from tests.web.report_export.conftest import SECRET
from tests.web.report_export.test_study_report import study_of_drafts

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.timeout(600)]
NOT_SHARED = "Nobody else's business"


def seed(data: Path) -> None:
    """A study of two arms of two starts, which pauses; and beside it a study and a run of nobody's business."""
    seed_finished(data, NOT_SHARED, batch_id="not-mine", state=RunState.FINISHED)
    store, rng = Store.open(Settings(data_dir=data)), np.random.default_rng(21)
    mine = study_of_drafts("mine", "Which k?").model_copy(update={"state": "paused"})
    store.save_study(mine)
    store.save_study(study_of_drafts("not-mine", NOT_SHARED))
    for place, k in enumerate((0, 4)):
        runs = repeats(IdealEngine(0.02, drafts=k, start_sd=0.005), "ladder", 2, rng, **SMALL)
        for number, facts in enumerate(runs):
            run = stored(store, facts, k, 20 * place + number)
            argv = (*run.config.argv, "--api-key", SECRET)
            config = run.config.model_copy(update={"argv": argv})
            store.save_run(run.model_copy(update={"batch_id": mine.id, "arm": f"k {k}", "config": config}))
    store.close()


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    pitwall = Pitwall(tmp_path_factory.mktemp("pitwall") / "data", free_ports(1)[0])
    seed(pitwall.data)
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


def link_of(page: Page, opens: str) -> str:
    """What the dialog of the one Share button that is seen gives."""
    press(page.get_by_role("button", name="Share", exact=True).first)
    dialog = page.get_by_role("dialog")
    current(dialog.get_by_text(opens, exact=True)).click()
    press(dialog.get_by_role("button", name="Make a link"))
    code = dialog.get_by_test_id("stCode").first
    expect(code).to_contain_text("/share/")
    return code.inner_text().strip()


def of_study(page: Page, pitwall: Pitwall, opens: str) -> str:
    page.goto(f"{pitwall.url}/studies?study=mine")
    return link_of(page, opens)


def test_guest_sees_the_shared_study_read_only(browser: Browser, open_page: Page, pitwall: Pitwall) -> None:
    guest = browser.new_context()
    page = guest.new_page()
    page.goto(of_study(open_page, pitwall, "this page"))
    assert page.url == f"{pitwall.url}/studies?study=mine"
    expect_whole(page.get_by_role("button", name="Report"))
    expect(page.get_by_text("Paused: k 4 leads.").first).to_be_visible()
    assert NOT_SHARED not in page.content()
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert broken_in_both_schemes(page) == []
    for name in ("Share", "Resume", "End now", "Add an arm", "Begin"):
        assert page.get_by_role("button", name=name, exact=True).count() == 0, name
    press(page.get_by_role("link", name="Compare its runs"))
    expect(page.locator(".pw-say").first).to_contain_text("k 4")
    page.goto(f"{pitwall.url}/studies?study=not-mine")
    expect(page.get_by_text("does not include that study")).to_be_visible()
    page.goto(f"{pitwall.url}/")
    page.get_by_role("link", name="Its report").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Which k?")
    guest.close()


def test_shared_report_is_one_offline_file(browser: Browser, open_page: Page, pitwall: Pitwall) -> None:
    guest = browser.new_context(viewport={"width": 1200, "height": 900})
    page, heard, asked = guest.new_page(), list[str](), list[str]()
    page.on("console", lambda message: heard.append(message.text))
    page.on("request", lambda one: asked.append(one.url))
    link = of_study(open_page, pitwall, "its report, one HTML page")
    page.goto(link)
    assert asked == [link, f"{pitwall.url}/report?study=mine"] and heard == []
    expect(page.get_by_role("heading", level=1)).to_have_text("Which k?")
    expect(page.get_by_text("made by a guest of a shared link")).to_be_visible()
    expect(page.locator(".rp-frontier circle").first).to_be_visible()
    with page.expect_download() as download:
        page.locator("button[data-csv=answers]").click()
    assert "k 4" in Path(download.value.path()).read_text()
    assert SECRET not in page.content() and NOT_SHARED not in page.content() and page.locator("img").count() == 0
    answer = guest.request.get(f"{pitwall.url}/report?study=mine")
    assert 'filename="pitwall-report-' in answer.headers["content-disposition"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    for query in ("study=not-mine", "run=20261120-120000-000-0000", "study=mine&run=x&study=not-mine", ""):
        refused = guest.request.get(f"{pitwall.url}/report?{query}")
        assert (refused.status, NOT_SHARED in refused.text()) == (404, False), query
    assert httpx.get(f"{pitwall.url}/report?study=mine").status_code == 401
    guest.close()


def test_shared_report_compares_by_the_objective(browser: Browser, open_page: Page, pitwall: Pitwall) -> None:
    ids = [str(row[0]) for row in pitwall.sql("SELECT run_id FROM runs WHERE arm IS NOT NULL ORDER BY arm, run_id")]
    open_page.goto(f"{pitwall.url}/compare?{'&'.join(f'run={one}' for one in ids)}&objective=ttft_ms@2&margin=0.07")
    link = link_of(open_page, "its report, one HTML page")
    guest = browser.new_context()
    page = guest.new_page()
    page.goto(link)
    expect(page.get_by_text("Compared by time to first token, 2 at once")).to_be_visible()
    expect(page.get_by_text("Differences below 7 % count as irrelevant.")).to_be_visible()
    page.goto(f"{pitwall.url}/report?study=mine")
    expect(page.get_by_role("heading", name="No report")).to_be_visible()  # the link is to the runs, not to the study
    guest.close()


def test_race_fits_a_phone_without_side_scroll(page: Page, pitwall: Pitwall) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{pitwall.url}/studies?study=mine")
    expect_whole(page.get_by_role("button", name="Report"))
    table = page.get_by_role("region", name="table").first
    assert table.evaluate("one => [one.scrollWidth - one.clientWidth, document.documentElement.scrollWidth]") == [
        0,
        390,
    ]
    row = table.get_by_role("row", name="k 4")
    expect(row.get_by_role("cell")).to_have_count(5)  # the empty one takes no room
    assert row.get_by_text("2.17x", exact=True).evaluate("c => getComputedStyle(c, '::before').content") == (
        '"Ratio to first arm "'
    )
