"""Two loads on one start of a real server, from the Launch page; a relaunch of the run keeps both."""

from __future__ import annotations

import re
import shlex

import pytest
from playwright.sync_api import Page, expect

from demo.model import TINY
from demo.presets import demo_configs
from tests.e2e.launch_page import choose_later, choose_workload, launch_button, paste_launchable, set_repeats
from tests.e2e.page_at_rest import current, press
from tests.e2e.pitwall_process import Pitwall, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.engine, pytest.mark.long, pytest.mark.timeout(900)]
RUN_S = 300.0


def test_start_serves_two_loads_kept_on_relaunch(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/launch")
    paste_launchable(page, shlex.join(demo_configs(pitwall.data, shape=TINY)[0].argv))
    choose_workload(page, "Demo stream")
    set_repeats(page, 1)
    choose_later(page, "Demo stream")
    page.keyboard.press("Escape")
    current(page.get_by_label("Name", exact=True)).first.fill("Both")
    press(launch_button(page))
    page.wait_for_url(re.compile(r"/live\?run="))
    wait_until(lambda: pitwall.states() == {"Both": "finished"}, RUN_S)
    rows = pitwall.sql("SELECT run_id, count(DISTINCT load_id), count(*) FROM loads GROUP BY run_id")
    assert [row[1:] for row in rows] == [(2, 2)]
    assert pitwall.sql("SELECT count(*) FROM results WHERE value IS NOT NULL") != [(0,)]

    page.goto(f"{pitwall.url}/run?run={rows[0][0]}")
    press(page.get_by_role("button", name="More", exact=True))
    press(page.get_by_role("menuitem", name="Relaunch with one change"))
    page.wait_for_url(re.compile("/launch"))
    expect(page.get_by_text("Demo stream, load 2 of the run Both").first).to_be_visible()
