"""Repeats in a real browser: a batch of them from the Launch page, and more of a finished run from its own page."""

from __future__ import annotations

import itertools
import re
import shlex

import pytest
from playwright.sync_api import Page, expect

from demo.model import TINY
from demo.presets import demo_configs
from tests.e2e.launch_page import choose_no_workload, launch_button, paste, paste_launchable, set_repeats
from tests.e2e.page_at_rest import current, press
from tests.e2e.pitwall_process import Pitwall, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.engine, pytest.mark.timeout(900)]
RUNS_S = 600.0


def test_repeats_preview_is_shown_before_start(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/launch")
    paste(page, "vllm serve o/m --port 8000")
    workload = page.get_by_role("combobox", name="Workload", exact=True)
    expect(workload).to_have_value("Five prompts")
    expect(page.get_by_label("Repeats", exact=True)).to_have_value("3")
    expect(page.get_by_text("3 server starts, one after the other.")).to_be_visible()
    expect(page.get_by_text("to ± 5 % (2 repeats: 13 %, 3: 5 %, 5: 3 %)")).to_be_visible()
    set_repeats(page, 20)
    expect(page.get_by_text("to ± 1.3 %")).to_be_visible()
    choose_no_workload(page)
    expect(page.get_by_label("Repeats", exact=True)).to_be_disabled()
    paste(page, shlex.join(demo_configs(pitwall.data, shape=TINY)[0].argv))
    expect(workload).to_have_value("Demo stream")
    assert pitwall.sql("SELECT count(*) FROM runs") == [(0,)]


@pytest.mark.long
def test_repeats_form_a_batch_and_repeat_old_run(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/launch")
    paste_launchable(page, shlex.join(demo_configs(pitwall.data, shape=TINY)[0].argv))
    set_repeats(page, 2)
    current(page.get_by_label("Name", exact=True)).first.fill("Twice")
    press(launch_button(page))
    page.wait_for_url(re.compile(r"/live\?run="))
    wait_until(lambda: pitwall.states() == {"Twice #1": "finished", "Twice #2": "finished"}, RUNS_S)
    ((first,),) = pitwall.sql("SELECT run_id FROM runs WHERE name = 'Twice #1'")
    page.goto(f"{pitwall.url}/run?run={first}")
    press(page.get_by_role("button", name="Repeat", exact=True))
    more = page.get_by_label("How many more runs")
    expect(more).to_have_value("2")
    more.fill("1")
    press(page.get_by_role("button", name="Queue them"))
    wait_until(lambda: pitwall.states().get("Twice #3") == "finished", RUNS_S)
    rows = pitwall.sql(
        "SELECT batch_id, workload, fingerprint, pid, started_at, ended_at FROM runs ORDER BY started_at"
    )
    assert len({row[:3] for row in rows}) == 1 and rows[0][0] is not None
    assert len({row[3] for row in rows}) == 3, "a server start each"
    assert all(one[5] <= following[4] for one, following in itertools.pairwise(rows)), "one after the other"
