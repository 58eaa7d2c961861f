"""Compare in a real browser: the head, the margin in the address, declared loads of logs, further repeats."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from domain import Config
from launcher.processes.process import ProcessSpec, write_spec
from machine.identity import machine_id
from settings import Settings
from storage.store import Store
from tests.accessibility import SCHEMES, follow
from tests.analysis.comparison.ideal_engine import IdealEngine
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from tests.e2e.page_at_rest import current, expect_whole, press, press_until, visit
from tests.e2e.pitwall_process import ROOT, Pitwall, wait_until
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.timeout(600)]
LOGS = [ROOT / "tests/fixtures/llamacpp" / name for name in ("plain.log", "draft.log")]
STARTS = 3
PLACES = """button => {
    const range = document.createRange();
    range.selectNodeContents(button.querySelector("p").lastChild);
    return [button, range].map(one => one.getBoundingClientRect().toJSON());
}"""


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, its queue on hold, with two simulated arms and a single start of each of two programs."""
    pitwall = Pitwall(tmp_path_factory.mktemp("pitwall") / "data", free_ports(1)[0])
    settings = Settings(data_dir=pitwall.data)
    store, rng = Store.open(settings), np.random.default_rng(21)
    for place, k in enumerate((0, 4)):
        engine = IdealEngine(0.02, drafts=k, start_sd=0.005)
        runs = [engine.run("ladder", rng, dict(SMALL)) for _ in range(STARTS + 1)]
        for number, facts in enumerate(runs[:STARTS]):
            stored(store, facts, k, 20 * place + number, name=f"arm {k} #{number + 1}")
        idle = Config(engine="other", argv=(sys.executable, "-c", ""), env={"DRAFTS": str(k)}, port=9000 + k)
        folder = settings.runs_dir / f"again-{k}"
        write_spec(ProcessSpec(list(idle.argv), str(folder)), folder)
        again = {"name": f"again {k}", "config": idle, "run_dir": str(folder)}
        stored(store, runs[STARTS], k, 20 * place + 9, machine_id=machine_id(), **again)
    store.close()
    (settings.runs_dir / "queue.json").write_text('{"is_on_hold": true}')
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


def address(pitwall: Pitwall, name: str, *more: str) -> str:
    ids = [run_id for (run_id,) in pitwall.sql(f"SELECT run_id FROM runs WHERE name LIKE '{name}%' ORDER BY run_id")]
    return f"{pitwall.url}/compare?" + "&".join([*(f"run={one}" for one in ids), *more])


def test_a_click_in_the_head_moves_the_baseline(page: Page, pitwall: Pitwall) -> None:
    page.goto(address(pitwall, "arm "))
    answer, head = page.locator(".pw-say"), page.locator(".st-key-compare-arms")
    expect(answer).to_have_text(re.compile(r"^arm 4 is \d\.\d+× as fast as arm 0, because tokens per step rose"))
    arms = head.get_by_role("button").filter(visible=True)
    expect(arms).to_have_text(["baseline arm 0 ×3", "arm 4 ×3"])
    before = page.url
    arms.last.click()
    expect(answer).to_have_text(re.compile(r"^arm 0 is 0\.\d+× as fast as arm 4, because tokens per step fell"))
    expect(arms).to_have_text(["baseline arm 4 ×3", "arm 0 ×3"])
    ids = re.findall(r"run=([^&]+)", before)
    assert re.findall(r"run=([^&]+)", page.url) == [*ids[STARTS:], *ids[:STARTS]]
    page.get_by_role("heading", name="Configuration differences").scroll_into_view_if_needed()
    expect(arms.first).to_be_in_viewport()


def test_long_name_is_cut_but_its_count_is_whole(page: Page, pitwall: Pitwall) -> None:
    """On a phone; the columns are made narrower than any name."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address(pitwall, "arm "))
    arms = page.locator(".st-key-compare-arms").get_by_role("button").filter(visible=True)
    expect(arms).to_have_text(["baseline arm 0 ×3", "arm 4 ×3"])
    narrow = (
        "[class*=st-key-compare-arms] > [class*=st-key-arm-] { flex: 0 0 5.6rem !important; min-width: 0 !important }"
    )
    page.add_style_tag(content=narrow)
    for scheme in SCHEMES:
        follow(page, scheme)
        for place in range(2):
            box, count = arms.nth(place).evaluate(PLACES)
            assert box["left"] <= count["left"] < count["right"] <= box["right"], (scheme, box, count)


def test_margin_survives_other_page_and_reload(page: Page, pitwall: Pitwall) -> None:
    page.goto(address(pitwall, "arm "))
    press(page.get_by_test_id("stPopoverButton").filter(has_text="±"))
    field = page.get_by_role("spinbutton", name="Smallest difference, %")
    expect(field).to_have_value("2")
    field.fill("5")
    field.press("Enter")
    locator = page.get_by_text("Differences below 5 % count as irrelevant.")
    expect(locator).to_be_visible()
    page.wait_for_url(re.compile("margin=0.05"))
    press(current(page.get_by_role("link", name="SQL")).first)
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()
    page.go_back()
    expect(locator).to_be_visible()
    expect(page.get_by_test_id("stPopoverButton").filter(has_text="±5")).to_be_visible()
    page.reload()
    expect(locator).to_be_visible()
    assert "margin=0.05" in page.url


def test_back_from_proposed_runs_restores_page(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/?find=arm")
    expect(current(page.get_by_label("Find", exact=True))).to_have_value("arm")
    press(current(page.get_by_role("link", name="Compare", exact=True)).first)
    page.wait_for_url(re.compile(r"/compare\?run=.+&run="))
    page.go_back()
    page.wait_for_url(re.compile(r"/\?find=arm$"))
    expect(current(page.get_by_label("Find", exact=True))).to_have_value("arm")


def test_logs_are_compared_as_owner_declared(page: Page, pitwall: Pitwall) -> None:
    env = os.environ | {"PITWALL_DATA": str(pitwall.data)}
    subprocess.run([str(ROOT / "pitwall"), "import", *map(str, LOGS)], env=env, check=True, capture_output=True)
    with_plain_first = "ORDER BY name LIKE '%speculation%'"  # two that came at one moment have ids in no order
    query = f"SELECT run_id FROM runs WHERE kind = 'imported' AND state = 'finished' {with_plain_first}"
    wait_until(lambda: len(pitwall.sql(query)) == len(LOGS), 60)
    logs = [run_id for (run_id,) in pitwall.sql(query)]
    compared = f"{pitwall.url}/compare?run={logs[0]}&run={logs[1]}&compare=hardware"
    page.goto(compared)
    expect(page.locator(".pw-guard")).to_contain_text("Workload load unknown: not sent by Pitwall")
    for run_id in logs:
        visit(page, f"{pitwall.url}/run?run={run_id}")
        expect_whole(page.get_by_role("heading", name="What happened"))
        press(page.get_by_text("Declare its load so that"))
        current(page.get_by_label("Workload", exact=True)).fill("our own replay")
        locator = page.get_by_text("Its owner declared the load: our own replay (requests at once 1).")
        press_until(page.get_by_role("button", name="Declare", exact=True), locator)
    visit(page, compared)
    expect(page.locator(".pw-guard")).to_contain_text("Workload our own replay, as declared by their owner")
    expect(page.locator(".pw-say")).to_have_text(re.compile("speculation was seen at 0.68× the speed of llama.cpp"))


def test_more_repeats_are_queued_from_compare(page: Page, pitwall: Pitwall) -> None:
    page.goto(address(pitwall, "again "))
    press(page.get_by_role("button", name="Queue 2 more of each"))
    queued = page.locator("[class*='st-key-queued-']")
    expect(queued).to_have_count(4)
    names = "SELECT name FROM runs WHERE state = 'queued'"
    wait_until(lambda: len(pitwall.sql(names)) == 4, 60)
    texts = [re.sub(r" #\d+$", "", name) for (name,) in pitwall.sql(names)]
    assert sorted(texts) == ["again 0", "again 0", "again 4", "again 4"]
    expect(page.get_by_text("on hold: no further run is started")).to_be_visible()
