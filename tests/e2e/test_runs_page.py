"""The Runs page of a store with a long queue: what is under way and what has ended stay in sight."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from domain import Config, Run, RunState
from launcher.runs.queue import RunQueue
from machine.identity import machine_id
from settings import Settings
from storage.store import Store
from tests.e2e.conftest import signed_in
from tests.e2e.pitwall_process import Pitwall
from tests.e2e.seeds import BEGAN, seed_finished

pytestmark = pytest.mark.browser
QUEUED = 60


def seed_queue(pitwall: Pitwall) -> None:
    """A watched run, and behind it a queue on hold."""
    settings = Settings(data_dir=pitwall.data)
    RunQueue(settings.runs_dir).hold(True)
    store = Store.open(settings)
    shared: dict[str, Any] = {"color": 0, "config": Config(), "machine_id": machine_id()}
    watched = Run(
        id="20261120-120001", name="Under way", kind="attached", state=RunState.READY, created_at=BEGAN, **shared
    )
    store.save_run(watched)
    for number in range(QUEUED):
        at, run_id = BEGAN + timedelta(hours=1), f"20261120-13{number:04d}"
        folder = str(settings.runs_dir / run_id)
        store.save_run(
            Run(id=run_id, name=f"Waits {number}", created_at=at, queue_position=number, run_dir=folder, **shared)
        )
    store.close()


def test_a_long_queue_hides_neither_what_is_live_nor_what_has_ended(browser: Browser, idle_pitwall: Pitwall) -> None:
    seed_finished(idle_pitwall.data, "Ended", state=RunState.FINISHED, cause=None, cause_line=None)
    seed_queue(idle_pitwall)
    idle_pitwall.start()
    context = signed_in(browser, idle_pitwall)
    page = context.new_page()
    page.goto(idle_pitwall.url)
    expect(page.locator(".pw-cards")).to_contain_text("Under way")
    expect(page.locator(".pw-cards > *")).to_have_count(51)
    expect(page.get_by_role("link", name="Watch side by side")).to_be_visible()
    expect(page.get_by_role("button", name="Compare the selected runs")).to_be_visible()
    expect(page.get_by_text("No run has ended yet")).to_have_count(0)
    context.close()
