"""The first look gives way to the page it announced: because the page is there, not because its patience is over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from domain import RunState
from tests.e2e.page_at_rest import waiting_for_ever
from tests.e2e.pitwall_process import Pitwall
from tests.e2e.seeds import seed_finished
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.pages]
MOST_TRIES = 20
PATIENCE = "const GIVE_UP_MS = 15000;"


@pytest.fixture(scope="module")
def runs() -> list[str]:
    return []


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory, runs: list[str]) -> Iterator[Pitwall]:
    """Up, with two finished runs."""
    pitwall = Pitwall(tmp_path_factory.mktemp("pitwall") / "data", free_ports(1)[0])
    for color, name in enumerate(("One", "Two")):
        runs.append(
            seed_finished(pitwall.data, name, color=color, state=RunState.FINISHED, cause=None, cause_line=None)
        )
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


def open_with_look(page: Page, address: str) -> None:
    """Open the page; where the machine is so full that it comes without its first look, once more."""
    for _ in range(MOST_TRIES):
        answer = page.goto(address)
        assert answer is not None
        if "The runs at a glance" in answer.text():
            return
    raise AssertionError(f"{address} never came with a first look")


@pytest.mark.parametrize(("path", "count"), [("live", 1), ("compare", 2), ("compare", 1), ("run", 1)])
def test_it_leaves_when_the_page_is_there(page: Page, pitwall: Pitwall, runs: list[str], path: str, count: int) -> None:
    page.route("**/first_look.js", waiting_for_ever(PATIENCE))
    look = page.get_by_role("region", name="The runs at a glance")
    open_with_look(page, f"{pitwall.url}/{path}?" + "&".join(f"run={run_id}" for run_id in runs[:count]))
    expect(look).to_have_count(0)
