"""A study in a real browser, over stand-ins of known truth: begun from its text, followed, paused, ended."""

from __future__ import annotations

import sys

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.page_at_rest import press
from tests.e2e.pitwall_process import Pitwall, wait_until
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(600)]


def text(*paces_ms: float, runs: int) -> str:
    port = free_ports(1)[0]
    arms = "".join(
        f'[[arm]]\nname = "at {pace} ms"\nengine = "vllm"\n'
        f'command = "{sys.executable} -m demo paced --port {port} --step-ms {pace}"\n'
        for pace in paces_ms
    )
    load = '[[workload]]\nname = "demo-stream"\n[workload.params]\nrequests = 2\ntokens = 30\nwarmup_tokens = 2\n'
    return f'question = "which"\ntitle = "Which pace?"\n[budget]\nruns = {runs}\n{arms}{load}'


def test_a_study_is_begun_followed_and_ended(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/studies")
    press(page.get_by_role("tab", name="TOML"))
    box = page.get_by_label("Study file (TOML)")
    box.fill('question = "why"')
    box.press("Control+Enter")
    expect(page.get_by_text("question: Input should be").filter(visible=True)).to_be_visible()
    box.fill(text(13.0, 10.0, runs=8))
    box.press("Control+Enter")
    words = "2 arms (at 13.0 ms, at 10.0 ms) under Demo stream (2 requests per start), at most 8 starts"
    expect(page.get_by_text(words)).to_be_visible()
    press(page.get_by_role("button", name="Begin", exact=True))
    expect(page.get_by_text("Not known yet: the first rounds are running.").first).to_be_visible()
    press(page.get_by_role("button", name="Pause after this round"))
    expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    wait_until(lambda: set(pitwall.states().values()) == {"finished"} and len(pitwall.states()) == 2, 200)
    press(page.get_by_role("button", name="Resume", exact=True))
    wait_until(lambda: len(pitwall.states()) > 2, 60)
    press(page.get_by_role("button", name="End now"))
    wait_until(lambda: pitwall.sql("SELECT state FROM studies") == [("ended",)], 60)
    expect(page.get_by_text("It was ended by a user.")).to_be_visible()
    expect(page.get_by_role("link", name="Compare its runs")).to_be_visible()
    wait_until(lambda: set(pitwall.states().values()) == {"finished"}, 200)
