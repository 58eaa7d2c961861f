"""The short demo while Pitwall is killed at random moments, and the pages that need its finished runs."""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.accessibility import broken_in_both_schemes
from tests.e2e import test_first_light as first_light
from tests.e2e.conftest import signed_in
from tests.e2e.launch_page import choose_no_workload, command_box, launch_button, paste_launchable
from tests.e2e.page_at_rest import current, expect_whole, press, visit
from tests.e2e.pitwall_process import Pitwall, wait_until
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.engine, pytest.mark.wide, pytest.mark.timeout(2700)]
pitwall = first_light.pitwall
KNOWN: dict[str, Callable[[Page], Locator]] = {
    "": lambda page: page.get_by_text("Links and changes"),
    "live": lambda page: page.locator(".lv-logs").filter(has_text="main loop exited"),
    "launch": command_box,
    "compare": lambda page: first_light.time_charts(page),
    "run": lambda page: page.locator(".pw-log"),
}


def test_random_kills_recover_everything(page: Page, pitwall: Pitwall) -> None:
    """A server that died with Pitwall would leave failed requests behind, which the next test counts."""
    first_light.watch_the_demo(page, pitwall)
    page.goto("about:blank")
    for _ in range(3):
        time.sleep(random.uniform(1.0, 6.0))
        first_light.kill_and_start(pitwall, random.uniform(0.0, 3.0))
    page.goto(pitwall.url)
    expect(page.get_by_role("heading", name="Finished runs")).to_be_visible()


def test_each_run_finishes_and_counts_lines_once(pitwall: Pitwall) -> None:
    first_light.test_all_three_finish_and_count_lines_once(pitwall)


def test_a_finished_run_lies_under_a_live_one(page: Page, pitwall: Pitwall) -> None:
    ghost = pitwall.sql("SELECT run_id FROM runs WHERE name = 'Demo: no speculation #1'")[0][0]
    target = next((pitwall.data / "demo").glob("demo-target*.gguf"))
    page.goto(f"{pitwall.url}/launch")
    command = (
        f"{sys.executable} -m demo serve -m {target} --port {free_ports(1)[0]} -c 2048 -np 1 -t 1 --metrics --slots"
    )
    paste_launchable(page, command)
    choose_no_workload(page)
    current(page.get_by_label("Name", exact=True)).first.fill("By hand")
    press(launch_button(page))
    page.wait_for_url(re.compile(r"/live\?run="))
    live = page.url.split("run=")[1]
    wait_until(lambda: pitwall.states().get("By hand") == "ready", 60)
    page.goto(f"{pitwall.url}/live?run={live}&run={ghost}")
    for name in ["By hand", "Demo: no speculation #1"]:
        expect(page.get_by_text(name).first).to_be_visible()
    press(page.get_by_role("button", name="Stop By hand"))
    press(page.get_by_role("button", name="Stop it now"))
    wait_until(lambda: pitwall.states()["By hand"] == "finished", 60)


def test_no_rule_of_wcag_aa_is_broken_on_a_phone(browser: Browser, pitwall: Pitwall) -> None:
    run_id = pitwall.sql("SELECT run_id FROM runs WHERE name = 'Demo: draft model #1'")[0][0]
    context = signed_in(browser, pitwall, viewport={"width": 390, "height": 844})
    page = context.new_page()
    told = list[str]()
    for path, value in KNOWN.items():
        visit(page, f"{pitwall.url}/{path}" + (f"?run={run_id}" if path == "run" else ""))
        expect_whole(value(page))
        told += [f"{path or 'runs'}: {one}" for one in broken_in_both_schemes(page)]
    context.close()
    assert told == []
