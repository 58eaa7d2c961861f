"""Choices on a page come back by Back, Forward and a reload, which is a pasted link too: page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from domain import RunState
from settings import Settings
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from tests.e2e.page_at_rest import current, press, visit, wait_for_rest
from tests.e2e.pitwall_process import Pitwall
from tests.ports import free_ports
from tests.web.report_export.test_study_report import study_of_drafts

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.timeout(600)]
IDS: list[str] = []
NAMES = {0: "plain arm", 4: "drafting arm"}  # k -> a name whose words stand nowhere else: ids and ports hold digits


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, with one simulated start of each of two arms, and two studies."""
    pitwall = Pitwall(tmp_path_factory.mktemp("places") / "data", free_ports(1)[0])
    store, rng = Store.open(Settings(data_dir=pitwall.data)), np.random.default_rng(8)
    for k in (0, 4):
        facts = IdealEngine(0.02, drafts=k).run("ladder", rng, dict(SMALL))
        run = stored(store, facts, k, 20 * k, name=NAMES[k])
        assert run.state is RunState.FINISHED
        IDS.append(run.id)
    for number in range(2):
        store.save_study(study_of_drafts(f"study{number}", f"Which {number}?").model_copy(update={"state": "paused"}))
    store.close()
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


Seen = Callable[[Page], Locator]


class Place(NamedTuple):
    """A page with what somebody chose there: A and B in its address stand for the two runs."""

    address: str
    title: str
    seen: tuple[Seen, ...]


def text(words: str) -> Seen:
    return lambda page: page.get_by_text(words).filter(visible=True)


def pressed(words: str) -> Seen:
    return lambda page: page.get_by_role("radio", name=words, checked=True)


def ticked(words: str) -> Seen:
    return lambda page: page.get_by_role("checkbox", name=words, checked=True)


def zoomed(page: Page) -> Locator:
    return page.get_by_role("button", name="Reset zoom")


PLACES = {
    "runs": Place(
        "?find=drafting+arm&column=state&fold=published&fold=disk",
        "Runs",
        (text("1 of 2 runs that have ended"), text("no request of full length fits"), text("2 runs take")),
    ),
    "run": Place("run?run=A&fold=reproduce", "plain arm · Run", (text("What happened"), text("The same as a preset"))),
    "live": Place(
        "live?run=B&run=A&from=1&to=3&scale=log",
        "drafting arm, plain arm · Live",
        (zoomed, ticked("Log scale")),
    ),
    "compare": Place(
        "compare?run=B&run=A&objective=ttft_ms%401&margin=0.05&fold=viewpoints",
        "drafting arm vs plain arm · Compare",
        (text("Differences below 5 %"), text("Each viewpoint is ranked separately")),
    ),
    "replay": Place("replay?run=A&run=B&phase=1&speed=10", "plain arm, drafting arm · Replay", (pressed("×10"),)),
    "studies": Place("studies?study=study0", "Which 0? · Studies", (text("Which 0?"),)),
    "explore": Place(
        "explore?draw=heat&x=k&fold=which",
        "Explore",
        (text("Cell colour"), lambda page: page.get_by_label("Find")),
    ),
    "sql": Place(
        "sql?sql=SELECT+40%2B2+AS+answer&draw=line&view=requests&fold=macros",
        "SQL",
        (pressed("Lines"), text("One request of a load"), text("crosscheck_of(run_ids)")),
    ),
    "launch": Place("launch?tab=Import", "Launch", (text("Time zone, if the log has none"),)),
}


@pytest.mark.parametrize("name", PLACES)
def test_what_was_chosen_is_there_again(open_page: Page, pitwall: Pitwall, name: str) -> None:
    place, page = PLACES[name], open_page
    address = f"{pitwall.url}/{place.address.replace('=A', f'={IDS[0]}').replace('=B', f'={IDS[1]}')}"
    other = ("Runs", "Finished runs") if name != "runs" else ("Studies", "Begin a study")

    def is_whole() -> None:
        for seen in place.seen:
            expect(current(seen(page)).first).to_be_visible()
        expect(page).to_have_url(address)
        expect(page).to_have_title(f"{place.title} · Pitwall")
        wait_for_rest(page)  # Streamlit may lose what is set again while it still draws

    visit(page, address)
    is_whole()
    press(current(page.get_by_role("link", name=other[0], exact=True)).first)
    expect(current(page.get_by_text(other[1], exact=True)).first).to_be_visible()
    wait_for_rest(page)
    page.go_back()
    is_whole()
    page.go_forward()
    expect(current(page.get_by_text(other[1], exact=True)).first).to_be_visible()
    wait_for_rest(page)
    page.go_back()
    is_whole()
    page.reload()
    is_whole()
    expect(page, "nothing of it is written anew").to_have_url(address)
