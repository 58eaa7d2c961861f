"""No page breaks a rule of WCAG 2 A or AA with its dialogs and folds open, in both colour schemes."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from domain import Config, RunState
from settings import Settings
from storage.store import Store
from tests.accessibility import SCHEMES, broken_at_each_size, broken_in_both_schemes, broken_rules, follow
from tests.e2e.conftest import signed_in
from tests.e2e.launch_page import launch_button, paste_launchable
from tests.e2e.page_at_rest import expect_whole, press, visit
from tests.e2e.pitwall_process import Pitwall
from tests.e2e.seeds import seed_finished
from tests.ports import free_ports
from tests.web.report_export.test_study_report import study_of_drafts

pytestmark = [pytest.mark.browser, pytest.mark.pages]
COMMAND = Config(engine="vllm", argv=("vllm", "serve", "m", "-c", "import sys; print('out of memory')"))
DESKTOP: ViewportSize = {"width": 1200, "height": 1400}
PHONE: ViewportSize = {"width": 390, "height": 844}
WINDOWS = (DESKTOP, PHONE)
DRAWN = "(kind) => document.querySelector('.js-plotly-plot')?._fullData?.[0]?.type === kind"
TABS: dict[str, Callable[[Page], Locator]] = {
    "Configure and launch": launch_button,
    "Sweep": lambda page: page.get_by_text("The plan appears here"),
    "Watch a running server": lambda page: page.get_by_role("heading", name="Running anywhere else"),
    "Import": lambda page: page.get_by_text("Drop files here"),
}


@pytest.fixture(scope="module")
def runs() -> list[str]:
    return []


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory, runs: list[str]) -> Iterator[Pitwall]:
    """Up, with a failed run, a finished one and a study."""
    pitwall = Pitwall(tmp_path_factory.mktemp("pitwall") / "data", free_ports(1)[0])
    runs += [
        seed_finished(pitwall.data, "Failed", config=COMMAND),
        seed_finished(pitwall.data, "Ended", color=1, state=RunState.FINISHED, cause=None, cause_line=None),
    ]
    store = Store.open(Settings(data_dir=pitwall.data))
    store.save_study(study_of_drafts("study0", "Which number of drafts?").model_copy(update={"state": "paused"}))
    store.close()
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


@pytest.fixture(scope="module")
def open_page(browser: Browser, pitwall: Pitwall) -> Iterator[Page]:
    context = signed_in(browser, pitwall, viewport=DESKTOP, timezone_id="Asia/Kolkata")
    yield context.new_page()
    context.close()


@pytest.fixture
def look(open_page: Page) -> Page:
    """The one page of this module, which the tests go on with; a desktop's width again."""
    open_page.set_viewport_size(DESKTOP)
    return open_page


def test_runs_with_its_folds_open(look: Page, pitwall: Pitwall) -> None:
    visit(look, f"{pitwall.url}/runs")
    press(look.get_by_text("Links and changes"))
    press(look.get_by_text("Published, not measured here"))
    expect(look.get_by_role("region", name="table").first).to_be_visible()
    assert broken_in_both_schemes(look) == []


def test_grouped_runs_and_views_are_accessible(look: Page, pitwall: Pitwall) -> None:
    visit(look, f"{pitwall.url}/?group=engine&open=vllm")
    expect(look.locator(".pw-group").first).to_contain_text("2 runs")
    press(look.get_by_role("button", name="Views"))
    expect_whole(look.get_by_role("button", name="Save this view"))
    assert broken_in_both_schemes(look) == []


@pytest.mark.parametrize(("draw", "kind"), [("scatter", "scatter"), ("distribution", "box"), ("heat", "heatmap")])
def test_explore_with_its_chart(look: Page, pitwall: Pitwall, draw: str, kind: str) -> None:
    visit(look, f"{pitwall.url}/explore?draw={draw}&y=ready&x=engine&color=kind")
    look.wait_for_function(DRAWN, arg=kind)  # the one before may still stand there
    expect_whole(look.locator(".js-plotly-plot"))
    if not look.get_by_label("Find").is_visible():  # the fold of the chart before may still be open
        press(look.get_by_text("Which runs").first)
    expect(look.get_by_label("Find")).to_be_visible()
    assert broken_at_each_size(look, WINDOWS) == []


def test_compare_and_share_dialog_are_accessible(look: Page, pitwall: Pitwall, runs: list[str]) -> None:
    """The statements in each scheme as they are opened; the share dialog follows the scheme while it is open."""
    visit(look, f"{pitwall.url}/compare?run={runs[0]}&run={runs[1]}")
    expect(look.locator(".pw-refused")).to_contain_text("Ended")
    assert broken_in_both_schemes(look) == []
    for scheme in SCHEMES:
        follow(look, scheme)
        press(look.get_by_role("button", name="More", exact=True))
        press(look.get_by_role("menuitem", name="Show the SQL"))
        expect(look.get_by_text("Acceptance over the whole run")).to_be_visible()
        assert broken_rules(look) == []
        look.keyboard.press("Escape")
        expect(look.get_by_role("dialog")).to_have_count(0)
    press(look.get_by_role("button", name="Share", exact=True))
    press(look.get_by_role("button", name="Make a link"))
    expect(look.get_by_role("dialog").locator("code", has_text="/share/").first).to_be_visible()
    assert broken_in_both_schemes(look) == []
    look.keyboard.press("Escape")
    expect(look.get_by_role("dialog")).to_have_count(0)


def test_a_failed_run(look: Page, pitwall: Pitwall, runs: list[str]) -> None:
    visit(look, f"{pitwall.url}/run?run={runs[0]}")
    press(look.get_by_text("Reproduce"))
    expect(look.get_by_text("The same as a preset")).to_be_visible()
    expect(look.get_by_title("20 Nov 2026 12:00:00 UTC")).to_have_text("20 Nov 2026 17:30:00 IST")
    assert broken_in_both_schemes(look) == []


def test_a_study_and_the_form_of_another(look: Page, pitwall: Pitwall) -> None:
    visit(look, f"{pitwall.url}/studies?study=study0")
    expect_whole(look.get_by_text("Which number of drafts?"))
    press(look.get_by_text("Begin a study").first)
    expect_whole(look.get_by_label("Arms from earlier runs and presets"))
    press(look.get_by_role("tab", name="TOML"))
    expect_whole(look.get_by_label("Study file (TOML)"))
    assert broken_at_each_size(look, WINDOWS) == []


def test_sql_with_an_answer(look: Page, pitwall: Pitwall) -> None:
    visit(look, f"{pitwall.url}/sql")
    press(look.get_by_role("button", name="Run", exact=True))
    expect(look.get_by_test_id("stDataFrame")).to_be_visible()
    press(look.get_by_text("History", exact=True))
    expect_whole(look.get_by_text(re.compile("IST: 2 rows")))
    assert broken_in_both_schemes(look) == []
    look.set_viewport_size(PHONE)
    expect(look.get_by_role("heading", level=1)).to_have_text("SQL")
    assert broken_in_both_schemes(look) == [], "the rows"
    press(look.get_by_role("button", name="Explain"))
    expect_whole(look.get_by_role("region", name="plan"))
    assert broken_in_both_schemes(look) == []


def test_every_tab_of_launch(look: Page, pitwall: Pitwall) -> None:
    visit(look, f"{pitwall.url}/launch")
    paste_launchable(look, f"{sys.executable} -m demo serve -m m.gguf --port 8080")
    told = list[str]()
    for tab, known_tab in TABS.items():
        press(look.get_by_role("tab", name=tab))
        expect_whole(known_tab(look))
        told += [f"{tab}: {one}" for one in broken_at_each_size(look, WINDOWS)]
        look.set_viewport_size(DESKTOP)
    assert told == []


def test_what_a_stranger_sees(browser: Browser, pitwall: Pitwall) -> None:
    page = browser.new_context().new_page()
    page.goto(pitwall.url)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert broken_in_both_schemes(page) == []
    page.goto(f"{pitwall.url}/share/cut-short")
    expect(page.get_by_role("heading", name="This link is no longer valid")).to_be_visible()
    assert broken_in_both_schemes(page) == []
    page.context.close()
