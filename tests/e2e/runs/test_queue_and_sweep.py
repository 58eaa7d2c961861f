"""A 2 x 2 sweep with 2 repeats, planned, queued, held, moved, skipped and ranked, in a real browser."""

from __future__ import annotations

import itertools
import re
import shlex

import pytest
from playwright.sync_api import Page, expect

from demo.presets import demo_configs
from launcher.runs.supervisor import CANCELLED, SKIPPED
from tests.e2e.launch_page import paste_launchable
from tests.e2e.page_at_rest import current, press
from tests.e2e.pitwall_process import Pitwall, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.engine, pytest.mark.timeout(3600)]
RUNS_S = 3300.0


@pytest.fixture(scope="module")
def command(pitwall: Pitwall) -> str:
    """The demo engine with a draft model, as large as users have it: a smaller one is through before it is measured."""
    (_, drafting, _) = demo_configs(pitwall.data)
    return shlex.join(drafting.argv)


def choose(page: Page, label: str, option: str) -> None:
    press(page.get_by_label(label, exact=True))
    press(page.get_by_role("option", name=option).first)


def plan(page: Page, pitwall: Pitwall, command: str, repeats: int) -> None:
    page.goto(f"{pitwall.url}/launch")
    paste_launchable(page, command)
    press(page.get_by_role("tab", name="Sweep"))
    choose(page, "Vary", "Draft tokens")
    current(page.get_by_label("Values", exact=True)).fill("0, 3")
    current(page.get_by_label("Values", exact=True)).press("Enter")
    choose(page, "And vary", "Max concurrent sequences")
    current(page.get_by_label("Its values")).fill("1..2")
    current(page.get_by_label("Its values")).press("Enter")
    current(page.get_by_label("Repeats, in rounds")).fill(str(repeats))
    current(page.get_by_label("Repeats, in rounds")).press("Enter")


def test_sweep_shows_plan_and_rejects_bad_values(page: Page, pitwall: Pitwall, command: str) -> None:
    plan(page, pitwall, command, repeats=2)
    expect(page.get_by_text(re.compile(r"4 configurations, 2 × each: 8 runs"))).to_be_visible()
    expect(page.get_by_text("time not known (no run of this workload has finished yet)")).to_be_visible()
    expect(page.get_by_role("cell", name="no speculation, max_num_seqs 1")).to_be_visible()
    choose(page, "And vary a load parameter", "Seed")
    current(page.get_by_label("Values of the load parameter", exact=True)).fill("7, 8, 9")
    current(page.get_by_label("Values of the load parameter", exact=True)).press("Enter")
    expect(page.get_by_text(re.compile(r"12 combinations, 2 × each: 24 runs"))).to_be_visible()
    expect(page.get_by_role("cell", name="no speculation, max_num_seqs 1, seed 8")).to_be_visible()
    assert pitwall.sql("SELECT count(*) FROM runs") == [(0,)], "nothing starts before the button"
    current(page.get_by_label("Its values")).fill("many")
    current(page.get_by_label("Its values")).press("Enter")
    expect(page.get_by_text("many is not a value for max_num_seqs.")).to_be_visible()


def test_unattended_sweep_pauses_reorders_skips(page: Page, pitwall: Pitwall, command: str) -> None:
    plan(page, pitwall, command, repeats=2)
    press(page.get_by_role("button", name="Queue these 8 runs"))
    page.wait_for_url(re.compile("/runs|/$"))
    press(page.get_by_role("button", name="Pause the queue"))
    expect(page.get_by_text("on hold: no further run is started")).to_be_visible()
    waiting = page.locator("[class*='st-key-queued-']")
    last = waiting.last.inner_text().split(" under ")[0].partition(". ")[2]
    before = waiting.count()
    press(waiting.last.get_by_role("button", name="First"))
    expect(waiting.first).to_contain_text(last)
    press(waiting.last.get_by_role("button", name="Cancel"))
    press(page.get_by_role("button", name="Cancel it"))
    expect(waiting).to_have_count(before - 1)
    press(page.get_by_role("button", name="Resume the queue"))
    wait_until(lambda: pitwall.sql("SELECT 1 FROM runs WHERE state = 'running'"), 120)
    press(current(page.get_by_role("button", name=re.compile("Skip .+"))).first)
    press(page.get_by_role("button", name="Skip it now"))
    wait_until(lambda: set(pitwall.states().values()) == {"finished"}, RUNS_S, every_s=1.0)
    notes = [note for (note,) in pitwall.sql("SELECT note FROM runs WHERE note IS NOT NULL ORDER BY note")]
    assert notes == [CANCELLED, SKIPPED]
    started = pitwall.sql("SELECT name, started_at, ended_at FROM runs WHERE started_at IS NOT NULL ORDER BY 2")
    assert len(started) == 7
    assert all(one[2] <= following[1] for one, following in itertools.pairwise(started)), "one at a time"


def test_compare_ranks_what_the_sweep_measured(page: Page, pitwall: Pitwall) -> None:
    rows = pitwall.sql("SELECT run_id, name FROM runs WHERE note IS NULL ORDER BY run_id")
    without = next(run_id for run_id, name in rows if name.startswith("no speculation, max_num_seqs 2"))
    drafting = next(run_id for run_id, name in rows if name.startswith("num_tokens 3, max_num_seqs 2"))
    page.goto(f"{pitwall.url}/compare?run={without}&run={drafting}")
    expect(page.locator(".pw-answer")).to_have_count(1)
    expect(page.locator(".pw-answer")).to_contain_text(re.compile(r"the speed of|is not ranked against"))
