"""The SQL page in a browser: ask, keep, come back by address, chart, download; and the way from a number to its SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Locator, Page, expect

from domain import Config, Run, RunState
from samples import Batch, CounterSample
from settings import Settings
from storage.store import Store
from tests.e2e.page_at_rest import current, downloaded_by, press, visit, wait_for_rest
from tests.e2e.pitwall_process import START_S, Pitwall, wait_until
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.pages]
NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
RUNS = {"20261120-120000-000-aaaa": "Base <b>", "20261120-120100-000-bbbb": "Drafting"}


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, with two finished runs of 20 s."""
    pitwall = Pitwall(tmp_path_factory.mktemp("sql") / "data", free_ports(1)[0])
    store = Store.open(Settings(data_dir=pitwall.data))
    for number, (run_id, name) in enumerate(RUNS.items()):
        store.save_run(
            Run(id=run_id, name=name, color=number, state=RunState.FINISHED, config=Config(engine="vllm"),
                machine_id="m", created_at=NOW, started_at=NOW, ready_at=NOW, ended_at=NOW + timedelta(seconds=30))
        )  # fmt: skip
        store.write(Batch(tuple(counters(run_id, second, number + 1.0) for second in range(20)))).result()
    store.close()
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


def counters(run_id: str, second: int, speed: float) -> CounterSample:
    return CounterSample(
        run_id, NOW + timedelta(seconds=second + 1), float(second), "vllm.counter",
        generation_tokens_total=50.0 * speed * second, first_tokens_total=1.0,
        inter_token_count_total=50.0 * speed * second, requests_running=1.0,
    )  # fmt: skip


def editor(page: Page) -> Locator:
    return page.get_by_label("SQL: one SELECT over the views")


def row_count_text(page: Page, words: str) -> Locator:
    """How many rows came; the list of what was asked says it too, behind the time."""
    return page.get_by_text(re.compile(rf"^[\d,]*\s*{words} .* ms\.")).first


def ask(page: Page, sql: str) -> None:
    editor(page).fill(sql)
    editor(page).press("Control+Enter")


def test_query_is_answered_kept_and_addressable(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/sql")
    ask(page, "SELECT name, length(state) AS letters FROM runs ORDER BY run_id")
    expect(row_count_text(page, "2 rows in")).to_be_visible()
    press(page.get_by_role("radio", name="Bars"))
    expect(page).to_have_url(re.compile("draw=bar"))
    current(page.get_by_placeholder("a name to save it under")).fill("my runs")
    press(page.get_by_role("button", name="Save"))
    expect(page).to_have_url(f"{pitwall.url}/sql?query=my+runs&draw=bar")
    assert (
        (pitwall.data / "queries" / "my runs.sql")
        .read_text()
        .endswith("\nSELECT name, length(state) AS letters FROM runs ORDER BY run_id")
    )

    page.goto(f"{pitwall.url}/sql?query=my+runs")
    expect(row_count_text(page, "2 rows in")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    expect(editor(page)).to_have_text("SELECT name, length(state) AS letters FROM runs ORDER BY run_id")
    press(page.get_by_role("button", name="Delete"))
    expect(page).to_have_url(f"{pitwall.url}/sql")
    assert not list((pitwall.data / "queries").iterdir())


def test_rows_download_as_csv_and_parquet(page: Page, pitwall: Pitwall, tmp_path: Path) -> None:
    page.goto(f"{pitwall.url}/sql")
    ask(page, "SELECT name FROM runs ORDER BY run_id")
    for label in ("CSV", "Parquet"):
        downloaded_by(page.get_by_role("button", name=label, exact=True)).save_as(tmp_path / label)
    assert (tmp_path / "CSV").read_text() == '"name"\n"Base <b>"\n"Drafting"\n'
    assert pq.read_table(tmp_path / "Parquet")["name"].to_pylist() == list(RUNS.values())


def test_long_answer_is_a_file_with_an_address(page: Page, pitwall: Pitwall, tmp_path: Path) -> None:
    page.goto(f"{pitwall.url}/sql")
    ask(page, "SELECT range AS n, 'a&b' AS words, repeat('x', 30) AS more FROM range(60000)")
    expect(row_count_text(page, "60,000 rows in")).to_be_visible()
    for label in ("CSV", "Parquet"):
        with page.expect_download() as caught:
            page.get_by_role("link", name=label, exact=True).click()
        caught.value.save_as(tmp_path / label)
    expect(row_count_text(page, "60,000 rows in"), "the page stays").to_be_visible()
    assert len((tmp_path / "CSV").read_text().splitlines()) == 60_001
    assert pq.read_table(tmp_path / "Parquet")["words"][59_999].as_py() == "a&b"


def test_numbers_are_drawn_a_line_for_each_run(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/sql")
    ask(page, "SELECT since_ready_s, decode_tps, name FROM run_windows(2) JOIN runs USING (run_id)")
    press(page.get_by_role("radio", name="Lines"))
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    expect(page).to_have_url(re.compile("draw=line"))
    page.reload()
    expect(page.locator(".js-plotly-plot")).to_be_visible()


def test_editor_completes_views_and_back_restores(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/sql")
    ask(page, "SELECT 1 AS one")
    expect(row_count_text(page, "1 row in")).to_be_visible()
    editor(page).fill("")
    editor(page).press_sequentially("FROM run_no")
    page.locator(".cm-tooltip-autocomplete").get_by_text("run_notes", exact=True).click()
    expect(editor(page)).to_have_text("FROM run_notes")
    press(page.get_by_role("button", name="Explain"))
    expect(page.get_by_role("region", name="plan")).to_contain_text("run_notes")
    page.go_back()
    expect(editor(page)).to_have_text("SELECT 1 AS one")
    expect(row_count_text(page, "1 row in")).to_be_visible()
    editor(page).focus()
    editor(page).press("Control+End")
    editor(page).press_sequentially(", 2 AS two")
    press(page.get_by_role("link", name="Explore", exact=True).first)
    wait_for_rest(page)
    expect(page).to_have_url(f"{pitwall.url}/explore")
    press(page.get_by_role("link", name="SQL", exact=True).first)
    expect(editor(page), "what was typed and not run is still there").to_have_text("SELECT 1 AS one, 2 AS two")
    expect(page).to_have_url(f"{pitwall.url}/sql?sql=SELECT+1+AS+one")
    page.reload()
    expect(editor(page)).to_have_text("SELECT 1 AS one, 2 AS two")
    press(page.get_by_role("button", name="Run", exact=True))
    expect(page).to_have_url(f"{pitwall.url}/sql?sql=SELECT+1+AS+one%2C+2+AS+two")


def test_editor_completes_macro_columns(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/sql")
    offered = page.locator(".cm-tooltip-autocomplete").get_by_text("decode_tps", exact=True)
    for text in ("FROM run_windows(2) WHERE dec", "FROM run_windows(2, run_ids := NULL) w WHERE w."):
        editor(page).fill("")
        editor(page).press_sequentially(text)
        offered.click()
        expect(editor(page)).to_have_text(text.removesuffix("dec") + "decode_tps")


@pytest.mark.parametrize(
    ("sql", "words"),
    [("SELECT nme FROM runs", "Candidate bindings"), ("DROP VIEW runs", "Only a SELECT can be run here")],
)
def test_a_mistake_is_told_on_the_page(open_page: Page, pitwall: Pitwall, sql: str, words: str) -> None:
    visit(open_page, f"{pitwall.url}/sql")
    ask(open_page, sql)
    expect(open_page.get_by_role("alert")).to_contain_text(words)


@pytest.mark.parametrize("place", [f"run?run={next(iter(RUNS))}", "compare?" + "&".join(f"run={run}" for run in RUNS)])
def test_number_sql_is_shown_and_opens_in_editor(open_page: Page, pitwall: Pitwall, place: str) -> None:
    visit(open_page, f"{pitwall.url}/{place}")
    press(open_page.get_by_role("button", name="More", exact=True))
    press(open_page.get_by_role("menuitem", name="Show the SQL"))
    press(current(open_page.get_by_role("link", name="Open on the SQL page")).first)
    expect(editor(open_page)).to_have_text(re.compile("run_windows"))
    expect(row_count_text(open_page, "rows in")).to_be_visible()


def test_what_was_asked_outlives_pitwall(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/sql?sql=SELECT+40+AS+kept")
    expect(row_count_text(page, "1 row in")).to_be_visible()
    wait_until(lambda: "SELECT 40 AS kept" in (pitwall.data / "asked.json").read_text(), START_S)
    pitwall.kill()
    pitwall.start()
    page.goto(f"{pitwall.url}/sql")
    press(page.get_by_text("History", exact=True))
    press(page.get_by_role("button", name="SELECT 40 AS kept"))
    expect(page).to_have_url(f"{pitwall.url}/sql?sql=SELECT+40+AS+kept&fold=asked")
    expect(row_count_text(page, "1 row in")).to_be_visible()
