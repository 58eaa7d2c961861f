"""Every page opens once in a real browser, with runs in the store: no exception, no console error, not too wide.

`make test-pages` has the long looks: every state, both widths, both schemes, accessibility.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import ConsoleMessage, Page, expect

from domain import RunState
from settings import Settings
from storage.store import Store
from tests.e2e.page_at_rest import expect_whole, visit
from tests.e2e.pitwall_process import Pitwall, running_pitwall
from tests.e2e.seeds import seed_finished, seed_time_series
from tests.web.report_export.test_study_report import study_of_drafts
from web.page_paths import PATHS

pytestmark = [pytest.mark.browser]
SECONDS = 60
PAGES = {  # path -> its address, R0 to R2 being runs, and a text that its end shows
    "": ("", "runs that have ended"),
    "live": ("live?run=R0&run=R1", "Arm A"),
    "launch": ("launch", "Command"),
    "compare": ("compare?run=R0&run=R1", "Configuration differences"),
    "replay": ("replay?run=R0&run=R1", "Arm A"),
    "studies": ("studies?study=study0", "Which number of drafts?"),
    "explore": ("explore", "Which runs"),
    "issues": ("issues", "Published"),
    "sql": ("sql?sql=SELECT+name+FROM+runs", "Table macros"),
    "run": ("run?run=R2", "What happened"),
    "shared": ("shared", ""),
}


@pytest.fixture(scope="module")
def ids() -> list[str]:
    return []


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory, ids: list[str]) -> Iterator[Pitwall]:
    data = tmp_path_factory.mktemp("pitwall") / "data"
    ids += seed_time_series(data, SECONDS, {"Arm A": 90.0, "Arm B": 100.0})
    ids.append(seed_finished(data, "A failed run", state=RunState.FAILED))
    store = Store.open(Settings(data_dir=data))
    store.save_study(study_of_drafts("study0", "Which number of drafts?").model_copy(update={"state": "paused"}))
    store.close()
    with running_pitwall(data) as pitwall:
        yield pitwall


def test_every_page_is_tried() -> None:
    assert set(PAGES) == {"", *PATHS}


@pytest.mark.parametrize("path", PAGES)
def test_page_opens(open_page: Page, pitwall: Pitwall, ids: list[str], path: str) -> None:
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    address, end = PAGES[path]
    for number, run_id in enumerate(ids):
        address = address.replace(f"=R{number}", f"={run_id}")
    open_page.on("console", note)
    open_page.on("pageerror", lambda error: errors.append(str(error)))
    visit(open_page, f"{pitwall.url}/{address}")
    main = open_page.get_by_test_id("stMain")
    expect_whole(main.get_by_text(end).filter(visible=True) if end else main)
    expect(open_page.locator("[data-testid=stException]")).to_have_count(0)
    width = open_page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
    assert errors == [] and width <= 0
