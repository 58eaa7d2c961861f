"""The demo at its full length, answered on Compare and in the terminal; test_first_light.py has a short one."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e import test_first_light as first_light
from tests.e2e.conftest import signed_in
from tests.e2e.pitwall_process import Pitwall, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.engine, pytest.mark.long, pytest.mark.timeout(2700)]


def test_the_whole_demo_is_answered(
    browser: Browser, idle_pitwall: Pitwall, record_property: Callable[[str, object], None]
) -> None:
    """What the first minute takes is told at the end of the log, and not judged: a machine may be busy."""
    pitwall, began_s = idle_pitwall, time.monotonic()
    pitwall.start()
    context = signed_in(browser, pitwall, viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto(pitwall.url)
    expect(page.get_by_role("button", name="Run the demo")).to_be_visible()
    record_property("told", f"from the start of Pitwall to its first page: {time.monotonic() - began_s:.1f} s")
    first_light.watch_the_demo(page, pitwall)
    wait_until(lambda: set(pitwall.states().values()) == {"finished"}, first_light.DEMO_S, every_s=1.0)
    page.wait_for_url(re.compile(r"/compare\?run="))  # by itself
    expect(page.locator(".pw-say").first).to_be_visible()
    load = f"load average {os.getloadavg()[0]:.1f}"
    record_property(
        "told", f"from the start of Pitwall to the demo's answer: {time.monotonic() - began_s:.0f} s, {load}"
    )
    requests = len(first_light.NAMES) * first_light.REQUESTS
    wait_until(lambda: len(pitwall.sql("SELECT 1 FROM requests WHERE error_kind IS NULL")) == requests, 60)
    first_light.test_compare_answers_three_arms_by_starts(page, pitwall)
    first_light.test_terminal_answer_matches_the_requests(pitwall)
    context.close()
