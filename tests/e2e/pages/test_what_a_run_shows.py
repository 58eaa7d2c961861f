"""Runs that have ended, on Runs, Run and Live: by a log alone, failed, without drafts, eight on a phone, the demo."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from collectors.imports.log_import import ImportOptions, LogImporter
from domain import Config, Run, RunState
from launcher.runs.queue import RunQueue
from machine.identity import machine_id
from samples import Batch, CounterSample
from settings import Settings
from storage.store import Store
from tests.e2e.page_at_rest import expect_whole, visit
from tests.e2e.pitwall_process import ROOT, Pitwall, running_pitwall
from tests.e2e.seeds import BEGAN, seed_finished, seed_time_series
from tests.web.guided_demo.test_tour import demo_run
from tests.web.live.test_live_reader import positions
from web.guided_demo.pace import FEWEST_TOKENS, FULL_TOKENS

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(900)]
FIXTURES = ROOT / "tests/fixtures"
LOGS = {
    "vllm": "vllm/0.32-ngram.log",
    "sglang": "sglang/0.5.23-cpu.log",
    "without times": "llamacpp/b8672-draft.log",
}
EIGHT = [f"Arm {letter}" for letter in "ABCDEFGH"]
PHONE_PX = 390
HIGHEST_PX = 2800  # of Live with eight runs on a phone: half of what it once was
CAUSE = "The kernel killed the process, most likely for memory."
DRAFTING = (
    "[2026-11-20 19:09:11] server_args=ServerArgs(model_path='m', speculative_algorithm='EAGLE', "
    "speculative_num_draft_tokens=4)\n"
    + "".join(
        f"[2026-11-20 19:10:{second}] Decode batch, #running-req: 1, #token: 168, token usage: 0.02, accept len: 2.80, "
        "accept rate: 0.60, cuda graph: True, gen throughput (token/s): 85.36, #queue-req: 0\n"
        for second in range(10, 30)
    )
)  # 1.8 of 3 drafted tokens
# Columns grow where a window has room for more.
NO_ROOM_LEFT = ("state", "why", "workload", "config", "machine", "tags", "stream", "output", "typical")
CELL_PADDING_PX = 8  # on each side
# Where each text of a table stands, which is drawn and not written.
NOTE_DRAWN = """
  const draw = CanvasRenderingContext2D.prototype.fillText;
  window.drawnTexts = {};
  CanvasRenderingContext2D.prototype.fillText = function (text, x, ...others) {
    window.drawnTexts[text] = { x, width: this.measureText(text).width };
    return draw.call(this, text, x, ...others);
  };
"""
Ids = dict[str, str]


@pytest.fixture(scope="module")
def ids() -> Ids:
    return {}


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory, ids: Ids) -> Iterator[Pitwall]:
    """Up, its queue on hold, with runs that have ended and a demo of which one start waits."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("pitwall") / "data")
    eight = seed_time_series(settings.data_dir, 120, {name: 90.0 + 10 * at for at, name in enumerate(EIGHT)})
    ids |= dict(zip(EIGHT, eight, strict=True))
    ids["failed"] = seed_finished(settings.data_dir, "Was killed", cause=CAUSE, note=None)
    RunQueue(settings.runs_dir, lambda task: task()).hold(True)
    store = Store.open(settings)
    seed_logs(store, settings, ids)
    seed_speculation(store, ids)
    seed_demo(store, settings)
    store.close()
    with running_pitwall(settings.data_dir) as pitwall:
        yield pitwall


def seed_logs(store: Store, settings: Settings, ids: Ids) -> None:
    importer = LogImporter(store, settings.runs_dir, lambda: BEGAN)
    drafting = settings.data_dir / "drafting.log"
    drafting.write_text(DRAFTING)
    for name, log in ({name: FIXTURES / place for name, place in LOGS.items()} | {"drafting": drafting}).items():
        (ids[name],) = importer.import_log(log, ImportOptions(f"Log: {name}"), lambda share: None).run_ids


def seed_speculation(store: Store, ids: Ids) -> None:
    """A run whose last sample of two accepted more, and one without drafts whose counters say 0.998 tokens a step."""
    ids["accepted"], ids["plain"] = "20261121-120000-000-acce", "20261121-130000-000-0998"
    for name in ("accepted", "plain"):
        run = Run(
            id=ids[name], name=name, color=0, state=RunState.FINISHED, machine_id=machine_id(), created_at=BEGAN,
            config=Config(engine="vllm", model="m", argv=("vllm", "serve", "m")), started_at=BEGAN,
            ready_at=BEGAN, ended_at=BEGAN + timedelta(minutes=1),
        )  # fmt: skip
        store.save_run(run)
    lines = (positions(10, 0.8, 0.6), positions(20, 0.94, 0.94))
    looks = (
        CounterSample(
            ids["plain"], BEGAN + timedelta(seconds=n), float(n), "vllm.counter", generation_tokens_total=99.8 * n,
            first_tokens_total=0.0, inter_token_count_total=100.0 * n, prompt_tokens_total=0.0, requests_running=1.0,
        )
        for n in range(40)
    )  # fmt: skip
    store.write(Batch((*(replace(line, run_id=ids["accepted"]) for line in lines), *looks))).result()


def seed_demo(store: Store, settings: Settings) -> None:
    """Two starts have ended and one waits; a slow machine gave them shorter answers."""
    for number, state in enumerate((RunState.FINISHED, RunState.FINISHED, RunState.QUEUED)):
        waits = state is RunState.QUEUED
        run = demo_run(number, state, None if waits else 20.0, FEWEST_TOKENS)
        fields = {"batch_id": "demo", "machine_id": machine_id(), "run_dir": str(settings.runs_dir / run.id)}
        fields["base_url"] = "http://127.0.0.1:8001"
        store.save_run(run.model_copy(update=fields | {"queue_position": 1.0 if waits else None}))


def row_of(page: Page, name: str) -> Locator:
    return page.locator("[data-testid=stDataFrame] tbody tr").filter(has_text=name)


def tile(page: Page, title: str) -> Locator:
    return page.locator(".pw-tiles > div").filter(has=page.locator("dt", has_text=title))


def open_run(page: Page, pitwall: Pitwall, run_id: str) -> None:
    visit(page, f"{pitwall.url}/run?run={run_id}")
    expect_whole(page.get_by_text(run_id, exact=True))
    expect_whole(page.get_by_role("heading", name="What happened"))


def test_runs_shows_what_a_log_says_of_its_speed(open_page: Page, pitwall: Pitwall) -> None:
    visit(open_page, f"{pitwall.url}/?column=printed")
    expect(row_of(open_page, "vLLM, lab, ngram k=4")).to_contain_text("vllm.log: 1,583 tok/s, 9 lines")
    expect(row_of(open_page, "SGLang, Log: sglang")).to_contain_text("sglang.log: 43.7 tok/s, 2 lines")


def test_failed_row_is_marked_with_its_full_cause(page: Page, pitwall: Pitwall) -> None:
    page.add_init_script(NOTE_DRAWN)
    page.goto(f"{pitwall.url}/?{'&'.join(f'column={one}' for one in NO_ROOM_LEFT)}")
    expect(row_of(page, "Was killed")).to_contain_text("\u2717 failed")
    expect(row_of(page, "Arm A")).to_contain_text("finished")
    expect(row_of(page, "Arm A")).not_to_contain_text("\u2717")
    page.wait_for_function(f"() => window.drawnTexts['{CAUSE}']")
    value = page.evaluate("window.drawnTexts")
    width = value["Workload"]["x"] - value["Missing numbers, or how it ended"]["x"]
    assert value[CAUSE]["width"] + 2 * CELL_PADDING_PX <= width


def test_acceptance_by_position_covers_the_run(open_page: Page, pitwall: Pitwall, ids: Ids) -> None:
    visit(open_page, f"{pitwall.url}/live?run={ids['accepted']}")
    open_page.get_by_role("heading", name="Acceptance by draft position").scroll_into_view_if_needed()
    expect(open_page.get_by_role("img", name="accepted: 87 %, 77 %", exact=True)).to_be_visible()
    expect(open_page.locator(".lv-tiles > div").filter(has_text="Acceptance")).to_contain_text("2.64")
    open_run(open_page, pitwall, ids["accepted"])
    expect(tile(open_page, "Acceptance rate")).to_contain_text("82.0")  # the mean of both positions


def test_draftless_server_has_one_token_a_step(open_page: Page, pitwall: Pitwall, ids: Ids) -> None:
    open_run(open_page, pitwall, ids["plain"])
    expect(tile(open_page, "Tokens per step").locator("dd")).to_have_text("1.00 tok/step")


def test_imported_log_has_no_time_to_ready(open_page: Page, pitwall: Pitwall, ids: Ids) -> None:
    """The time counts from the start of the process, which a log does not state."""
    for name in ("sglang", "without times"):
        open_run(open_page, pitwall, ids[name])
        expect(tile(open_page, "Time to ready")).to_have_count(0)


def test_sglang_s_printed_acceptance_is_known(open_page: Page, pitwall: Pitwall, ids: Ids) -> None:
    open_run(open_page, pitwall, ids["drafting"])
    expect(tile(open_page, "Acceptance length")).to_contain_text("2.80")
    expect(tile(open_page, "Acceptance rate")).to_contain_text("60.0")


def test_live_with_eight_runs_is_low_on_a_phone(
    open_page: Page, pitwall: Pitwall, ids: Ids, record_property: Callable[[str, object], None]
) -> None:
    open_page.set_viewport_size({"width": PHONE_PX, "height": 844})
    visit(open_page, f"{pitwall.url}/live?{'&'.join(f'run={ids[name]}' for name in EIGHT)}")
    expect(open_page.locator(".lv-chip:visible")).to_have_count(len(EIGHT))
    open_page.wait_for_function("() => document.querySelector('.lv-wide .lv-plot')?.data?.length >= 8")
    expect(open_page.locator(".lv-log")).to_have_count(len(EIGHT))
    height = open_page.get_by_test_id("stMain").evaluate("(main) => main.scrollHeight")
    record_property("told", f"Live of {len(EIGHT)} runs is {height} px high on a phone")
    assert height < HIGHEST_PX


def test_demo_reports_slow_or_busy_machine(open_page: Page, pitwall: Pitwall) -> None:
    visit(open_page, f"{pitwall.url}/live?run=r0&run=r1&demo=follow")
    words = f"This machine is slow or busy: its answers have {FEWEST_TOKENS} tokens instead of {FULL_TOKENS}."
    pattern = re.compile(rf"Demo: 2 of 3 starts done, about 20 s to go; .+ {re.escape(words)}")
    expect(open_page.get_by_text(pattern)).to_be_visible()
