"""The demo at its full length, answered on Compare and in the terminal; test_first_light.py has a short one."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page

from tests.e2e import test_first_light as first_light
from tests.e2e.pitwall_process import Pitwall, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.engine, pytest.mark.long, pytest.mark.timeout(1200)]


def test_the_whole_demo_is_answered(page: Page, pitwall: Pitwall) -> None:
    first_light.test_the_demo_runs_one_after_the_other_and_is_watched_live(page, pitwall)
    wait_until(lambda: set(pitwall.states().values()) == {"finished"}, first_light.DEMO_S, every_s=1.0)
    page.wait_for_url(re.compile(r"/compare\?run="))  # by itself
    requests = len(first_light.NAMES) * first_light.REQUESTS
    wait_until(lambda: len(pitwall.sql("SELECT 1 FROM requests WHERE error_kind IS NULL")) == requests, 20)
    first_light.test_compare_answers_about_three_arms_of_three_starts(page, pitwall)
    first_light.test_the_answer_in_the_terminal_is_that_of_the_requests(pitwall)
