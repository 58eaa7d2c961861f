"""The section 'Agent sessions' of Run in a browser: causes on top, every turn below, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from samples import Batch
from settings import Settings
from storage.store import Store
from tests.analysis.sessions.recorded_chats import HandMadeRecording, chat
from tests.e2e.conftest import signed_in
from tests.e2e.launch_page import choose_option
from tests.e2e.pitwall_process import Pitwall
from tests.e2e.seeds import seed_finished
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.pages]
PHONE_PX = 390


def seed_agent(data: Path) -> str:
    """A finished run with a session whose second turn has another system text, and a side question."""
    run_id = seed_finished(data, "An agent")
    recording, system = HandMadeRecording(run_id), "2" + "s" * 400
    recording.add(chat("a", "b", "c", tools=("bash",)), 1000, 0)
    recording.add(chat("a", "b", "c", "d", system=system, tools=("bash",)), 1200, 0, ttft_ms=2000.0)
    recording.add(chat("a", "b", "c", "d", "e", system=system, tools=("bash",)), 1400, 1200)
    recording.add(chat("a", "b", "c", "d", "why", system=system, tools=("bash",)), 1390, 1200)
    store = Store.open(Settings(data_dir=data))
    store.write(Batch(tuple(replace(row, run_id=run_id) for row in recording.rows))).result(30)
    store.close()
    return run_id


@pytest.fixture
def agent_page(browser: Browser, tmp_path: Path) -> Iterator[tuple[Page, str]]:
    pitwall = Pitwall(tmp_path / "data", free_ports(1)[0])
    run_id = seed_agent(pitwall.data)
    pitwall.start()
    context = signed_in(browser, pitwall, viewport={"width": 1400, "height": 900})
    yield context.new_page(), f"{pitwall.url}/run?run={run_id}"
    context.close()
    pitwall.end_everything()


def test_causes_and_turns_are_shown(agent_page: tuple[Page, str]) -> None:
    page, url = agent_page
    page.goto(url)
    expect(page.get_by_role("heading", name="Agent sessions")).to_be_visible()
    section = page.locator(".pw-agent-sessions")
    expect(section.locator("li")).to_have_text(
        "System block 1 of 1 changed in its first 256 bytes (a date?). In 1 turn: 1,000 tokens again, 1.7 s."
    )
    expect(section.locator("tbody th")).to_have_text(["1.1.1", "1.1.2", "1.1.3", "1.2.3"])
    page.set_viewport_size({"width": PHONE_PX, "height": 800})
    page.wait_for_function("() => document.documentElement.scrollWidth <= window.innerWidth")


def test_shape_is_saved_and_offered_to_a_load(agent_page: tuple[Page, str], tmp_path: Path) -> None:
    page, url = agent_page
    page.goto(url)
    page.get_by_role("button", name="Save their shape for replays").click()
    saved = page.get_by_text("4 requests of 1 session, 4,990 prompt tokens, of which the server computed 2,590.")
    expect(saved).to_be_visible()
    run_id = url.rpartition("=")[2]
    page.goto(f"{url.rpartition('/')[0]}/launch?run={run_id}")
    choose_option(page, "Workload", "Agent replay")
    page.get_by_role("button", name="Load settings").click()
    choose_option(page, "Shape, or trace", str(tmp_path / "data/shapes" / f"{run_id}.jsonl"))
    expect(page.get_by_text("4 requests, at most")).to_be_visible()
