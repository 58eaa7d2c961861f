"""Three demo runs under the whole five-prompt workload, queued from the page, unattended, and ranked."""

from __future__ import annotations

import itertools
import re
import shlex

import pytest
from playwright.sync_api import Page, expect

from demo.presets import DemoConfig, demo_configs
from tests.e2e.launch_page import choose_workload, launch_button, paste_launchable, set_repeats
from tests.e2e.page_at_rest import current, press
from tests.e2e.pitwall_process import Pitwall, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.engine, pytest.mark.timeout(3600)]
RUNS_S = 3300.0
REQUESTS = 15  # a warm-up, twice five, four at once


def queue_up(page: Page, pitwall: Pitwall, demo_config: DemoConfig) -> None:
    page.goto(f"{pitwall.url}/launch")
    paste_launchable(page, shlex.join(demo_config.config.argv))
    current(page.get_by_label("Name", exact=True)).first.fill(demo_config.name)
    choose_workload(page, "Five prompts")
    set_repeats(page, 1)
    press(launch_button(page))
    page.wait_for_url(re.compile("/live"))


def test_five_prompts_run_unattended_and_rank(page: Page, pitwall: Pitwall) -> None:
    names = []
    for demo_config in demo_configs(pitwall.data):
        queue_up(page, pitwall, demo_config)
        names.append(demo_config.name)
    page.goto(pitwall.url)
    expect(page.get_by_text("Queue", exact=True)).to_be_visible()
    wait_until(lambda: list(pitwall.states().values()) == ["finished"] * 3, RUNS_S, every_s=2.0)

    times = pitwall.sql("SELECT started_at, ended_at FROM runs ORDER BY started_at")
    assert all(one[1] <= following[0] for one, following in itertools.pairwise(times)), "one at a time"
    rows = pitwall.sql("SELECT run_id, count(*), count(error_kind) FROM requests GROUP BY ALL")
    assert [row[1:] for row in rows] == [(REQUESTS, 0)] * 3
    classes = {str(name) for (name,) in pitwall.sql("SELECT DISTINCT prompt_class FROM requests")}
    assert classes == {"Q&A", "Code", "JSON", "Math", "LongCode", "Parallel"}
    assert pitwall.sql("SELECT DISTINCT workload FROM runs") == [("five-prompts",)]

    ids = [run_id for (run_id,) in pitwall.sql("SELECT run_id FROM runs ORDER BY run_id")]
    page.goto(f"{pitwall.url}/compare?" + "&".join(f"run={run_id}" for run_id in ids))
    verdicts = page.locator(".pw-answer:not(.pw-overview)")  # arms refused for the same reason share one
    expect(verdicts.first).to_be_visible()
    for verdict in verdicts.all():
        expect(verdict).to_contain_text(re.compile(r"the speed of .+ one start each|is not ranked against"))
