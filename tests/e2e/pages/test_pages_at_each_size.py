"""No page breaks a rule of WCAG 2 A or AA or is wider than its window in any state: both widths, both schemes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from domain import RunState
from settings import Settings
from storage.store import Store
from tests.accessibility import broken_at_each_size
from tests.e2e.page_at_rest import expect_whole, press, visit, wait_for_rest
from tests.e2e.pitwall_process import Pitwall, running_pitwall
from tests.e2e.seeds import seed_finished, seed_many, seed_time_series
from tests.web.report_export.test_study_report import study_of_drafts

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(900)]
WINDOWS: list[ViewportSize] = [{"width": 1400, "height": 900}, {"width": 390, "height": 844}]
SECONDS = 120
EIGHT = [f"Arm {letter}" for letter in "ABCDEFGH"]
LINES = "document.querySelector('.lv-wide .lv-plot')?._fullLayout?._has('scatter')"


@pytest.fixture(scope="module")
def ids() -> list[str]:
    return []


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory, ids: list[str]) -> Iterator[Pitwall]:
    """Up, with runs of several arms and loads, eight that have charts over time, a failed one and a study."""
    data = tmp_path_factory.mktemp("pitwall") / "data"
    ids += seed_time_series(data, SECONDS, {name: 90.0 + 10 * at for at, name in enumerate(EIGHT)})
    ids.append(seed_finished(data, "A failed run", state=RunState.FAILED))
    seed_many(data)
    store = Store.open(Settings(data_dir=data))
    store.save_study(study_of_drafts("study0", "Which number of drafts?").model_copy(update={"state": "paused"}))
    store.close()
    with running_pitwall(data) as pitwall:
        yield pitwall


Whole = Callable[[Page], Locator]


def text(words: str) -> Whole:
    return lambda page: page.get_by_text(words).filter(visible=True)


def charts(page: Page) -> Locator:
    page.wait_for_function(f"() => {LINES}")
    return page.locator(".lv-wide .main-svg")


def chart(page: Page) -> Locator:
    return page.locator(".lv-still .main-svg")


STATES: dict[str, tuple[str, Whole]] = {  # what is open -> its address, and what it ends with; OF_EIGHT are runs
    "runs": ("", text("runs that have ended")),
    "runs, filtered": ("?find=k%3D2&order=stream&reversed=1&column=state&pin=state", text("runs that have ended")),
    "runs, none found": ("?find=nothing+is+like+that", text("No runs match")),
    "runs, archived": ("?mark=archived", text("No runs match")),
    "runs in groups": ("?group=arm&open=", lambda page: page.locator(".pw-group")),
    "runs, all folds": ("?fold=published&fold=disk&fold=changes", text("runs take")),
    "live of eight": ("live?OF_EIGHT", charts),
    "live of two, zoomed": ("live?run=R0&run=R1&from=20&to=60&scale=log&smooth=10", charts),
    "live of none": ("live", lambda page: page.get_by_test_id("stMain")),
    "compare of eight": ("compare?OF_EIGHT", text("Configuration differences")),
    "compare of none": ("compare?run=R0", text("Pick two or more runs")),
    "run": ("run?run=R0&fold=reproduce", charts),
    "run that failed": ("run?run=R8&fold=reproduce", text("What happened")),
    "run, unknown": ("run?run=nobody", lambda page: page.get_by_test_id("stMain")),
    "explore, points": ("explore?fold=which", chart),
    "explore, lines": ("explore?draw=line&x=concurrency&y=results.output_tps.mean&color=arm", chart),
    "explore, distribution": ("explore?draw=distribution&x=method", chart),
    "explore, map": ("explore?draw=heat&x=k&color=quantization&cell=4&cell=fp8", chart),
    "explore, small maps": ("explore?draw=heat&x=k&color=workload&facet=quantization", chart),
    "sql": ("sql?sql=SELECT+name,+state+FROM+runs&draw=bar&fold=macros", lambda page: page.get_by_label("SQL").first),
    "launch": ("launch", lambda page: page.get_by_role("tab").first),
    "launch, import": ("launch?tab=Import", text("Drop files here")),
    "study": ("studies?study=study0", text("Which number of drafts?")),
    "replay": ("replay?run=R0&run=R1", lambda page: page.get_by_test_id("stMain")),
}


def address_of(state: str, ids: list[str]) -> str:
    address = STATES[state][0].replace("OF_EIGHT", "&".join(f"run={one}" for one in ids[:8]))
    for number, run_id in enumerate(ids):
        address = address.replace(f"=R{number}", f"={run_id}")
    return address


@pytest.mark.parametrize("state", STATES)
def test_no_page_state_breaks_a_rule(open_page: Page, pitwall: Pitwall, ids: list[str], state: str) -> None:
    visit(open_page, f"{pitwall.url}/{address_of(state, ids)}")
    expect_whole(STATES[state][1](open_page))
    assert broken_at_each_size(open_page, WINDOWS) == []


CUT_STATES = """[...document.querySelectorAll('.lv-chip:not([hidden]) .lv-state')]
  .filter((state) => state.lastChild.getBoundingClientRect().width === 0
    || state.firstChild.scrollWidth > state.firstChild.clientWidth
    || state.lastChild.getBoundingClientRect().right > state.closest('.lv-chip').getBoundingClientRect().right
    || state.getBoundingClientRect().bottom > state.closest('.lv-chip').getBoundingClientRect().bottom)
  .map((state) => state.textContent)"""


def test_live_of_eight_runs_fits_a_phone(open_page: Page, pitwall: Pitwall, ids: list[str]) -> None:
    visit(open_page, f"{pitwall.url}/{address_of('live of eight', ids)}")
    charts(open_page)
    for size in WINDOWS:
        open_page.set_viewport_size(size)
        expect(open_page.locator(".lv-chip:visible")).to_have_count(8)
        open_page.wait_for_function("() => document.querySelector('.lv-wide .lv-plot').data.length >= 8")
        right = open_page.evaluate(
            "Math.max(...[...document.querySelectorAll('.lv-chart')].map((one) => one.getBoundingClientRect().right))"
        )
        assert right <= size["width"], size
        assert open_page.evaluate(CUT_STATES) == [], size


def test_long_note_beside_a_speed_cuts_no_state(open_page: Page, pitwall: Pitwall, ids: list[str]) -> None:
    visit(open_page, f"{pitwall.url}/live?run={ids[0]}&run={ids[1]}")
    charts(open_page)
    notes = open_page.locator(".lv-speed-note")
    notes.evaluate_all("(notes) => notes.forEach((note) => { note.textContent = 'not compared: '.repeat(20); })")
    for size in WINDOWS:
        open_page.set_viewport_size(size)
        assert open_page.evaluate(CUT_STATES) == [], size


def test_word_baseline_is_whole_and_so_is_a_title_on_a_phone(open_page: Page, pitwall: Pitwall, ids: list[str]) -> None:
    """Eight arms share a head, and the actions beside a run's title once left room for six of its letters."""
    cut = "(element) => element.scrollWidth > element.clientWidth"
    for size in WINDOWS:
        open_page.set_viewport_size(size)
        visit(open_page, f"{pitwall.url}/{address_of('compare of eight', ids)}")
        baseline = open_page.get_by_role("button", name="baseline").locator("strong").first
        expect(baseline).to_have_text("baseline")
        assert baseline.evaluate(cut) is False, size
        visit(open_page, f"{pitwall.url}/{address_of('run that failed', ids)}")
        assert open_page.locator(".pw-title > span:last-child").evaluate(cut) is False, size


AXES = """[...document.querySelectorAll('.lv-plot')]
  .filter((plot) => plot.data?.[0]?.type === 'scatter' && plot.clientHeight)
  .map((plot) => plot._fullLayout.xaxis.range)"""


def test_shift_drag_pans_all_live_charts(open_page: Page, pitwall: Pitwall, ids: list[str]) -> None:
    visit(open_page, f"{pitwall.url}/live?run={ids[0]}&run={ids[1]}&from=40&to=60")
    charts(open_page)
    open_page.wait_for_function(f"() => {{ const [first] = {AXES}; return first?.[0] === 40 && first[1] === 60; }}")
    wait_for_rest(open_page)
    drag_area = open_page.locator(".lv-wide .nsewdrag")
    drag_area.hover()  # waits until nothing moves it any more
    box = drag_area.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    open_page.keyboard.down("Shift")
    open_page.mouse.move(box["x"] + 0.6 * box["width"], middle)
    open_page.mouse.down()
    open_page.mouse.move(box["x"] + 0.35 * box["width"], middle, steps=8)
    open_page.mouse.up()
    open_page.keyboard.up("Shift")
    open_page.wait_for_function(f"""() => {{
      const shown = {AXES};
      return shown.length > 2 && shown.every(([low, high]) => Math.abs(low - 45) < 0.5 && Math.abs(high - 65) < 0.5);
    }}""")
    expect(open_page.get_by_role("button", name="Reset zoom")).to_be_visible()
    assert "from=4" in open_page.url and "to=6" in open_page.url
    press(open_page.get_by_role("button", name="Reset zoom"))
    expect(open_page).not_to_have_url(re.compile("from="))
