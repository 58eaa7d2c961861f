"""The queue on the Runs page: what waits for what, by GPU, and what may be done about it."""

from __future__ import annotations

import re
import shlex

import pytest
from playwright.sync_api import Page, expect

from demo.model import TINY
from demo.presets import demo_configs
from tests.e2e.launch_page import choose_no_workload, launch_button, paste_launchable
from tests.e2e.page_at_rest import current, press
from tests.e2e.pitwall_process import Pitwall, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.engine, pytest.mark.long, pytest.mark.timeout(600)]


def queue_up(page: Page, pitwall: Pitwall, name: str, command: str) -> None:
    page.goto(f"{pitwall.url}/launch")
    paste_launchable(page, command)
    choose_no_workload(page)
    current(page.get_by_label("Name", exact=True)).first.fill(name)
    press(launch_button(page))
    page.wait_for_url(re.compile("/live"))


def test_queue_shows_runs_waiting_for_gpus(page: Page, pitwall: Pitwall) -> None:
    argv = [shlex.join(demo_config.config.argv) for demo_config in demo_configs(pitwall.data, shape=TINY)]
    on = {"First": "0", "Beside": "1", "Behind": "0"}
    for (name, gpu), command in zip(on.items(), argv, strict=True):
        queue_up(page, pitwall, name, f"CUDA_VISIBLE_DEVICES={gpu} {command}")
    wait_until(lambda: [pitwall.states().get(name) for name in on] == ["ready", "ready", "queued"], 120)
    page.goto(pitwall.url)
    expect(page.get_by_text("First is ready on GPU 0; Beside is ready on GPU 1; 1 waiting")).to_be_visible()
    expect(page.get_by_text("side by side on one machine: not ranked")).to_be_visible()
    expect(page.locator("[class*='st-key-queued-']")).to_contain_text("Behind without a load, on GPU 0")
    press(page.get_by_role("button", name="Skip First"))
    press(page.get_by_role("button", name="Skip it now"))
    wait_until(lambda: [pitwall.states()[name] for name in on] == ["finished", "ready", "ready"], 120)
