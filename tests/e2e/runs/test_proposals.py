"""Studies that an agent proposes, decided on Runs in a real browser; a stranger is not shown them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from service.proposals import ProposalBook
from settings import Settings
from tests.cli.mcp_server.test_mcp_tools import STUDY
from tests.e2e.page_at_rest import press
from tests.e2e.pitwall_process import Pitwall, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.timeout(300)]
DECIDED_S = 60.0


def test_operator_decides_on_runs(browser: Browser, page: Page, pitwall: Pitwall) -> None:
    book = ProposalBook(Settings(data_dir=pitwall.data).proposals_path)
    proposal, unwanted = (book.propose_study(STUDY, why, "an agent") for why in ("which?", "no"))
    page.goto(pitwall.url)
    expect(page.get_by_role("heading", name="Proposed by agents")).to_be_visible()
    expect(page.get_by_text("vllm serve m --port").first).to_be_visible()
    press(page.get_by_role("button", name=f"Reject {unwanted.id}"))
    expect(page.get_by_role("button", name=f"Accept {unwanted.id}")).to_have_count(0)
    stranger = browser.new_context()
    foreign = stranger.new_page()
    foreign.goto(pitwall.url)
    expect(foreign.get_by_text("Proposed by agents")).to_have_count(0)
    stranger.close()
    press(page.get_by_role("button", name=f"Accept {proposal.id}"))
    wait_until(lambda: pitwall.sql("SELECT count(*) FROM studies") == [(1,)], DECIDED_S)
    expect(page.get_by_role("heading", name="Proposed by agents")).to_have_count(0)
    assert book.all() == []
    wait_until(
        lambda: actions(pitwall) == {f"reject proposal {unwanted.id}", f"accept proposal {proposal.id}"}, DECIDED_S
    )


def actions(pitwall: Pitwall) -> set[str]:
    rows = pitwall.sql("SELECT action || ' ' || split_part(detail, ':', 1) FROM audit WHERE action LIKE '%proposal'")
    return {str(row[0]) for row in rows}
