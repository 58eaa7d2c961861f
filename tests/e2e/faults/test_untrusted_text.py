"""Whatever a server, a model or a person wrote is text on every page, and secrets of a log are on none."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from samples import Batch, GpuSample
from settings import Settings
from storage.store import Store
from tests.e2e.conftest import signed_in
from tests.e2e.launch_page import command_box
from tests.e2e.page_at_rest import current, expect_whole, press, visit
from tests.e2e.pitwall_process import Pitwall
from tests.e2e.seeds import BEGAN, seed_finished
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.pages]
EVIL = (
    "E0 <img src=x onerror=window.owned=1><script>window.owned=1</script>"
    "[l](javascript:window.owned=1) ![i](http://127.0.0.1:9/p.png) **b0ld** `c0de` :red[col0r] $$m$$ \x1b[31m"
)
SECRET = "s3cr3t-value-of-mine"
ALIVE = """() => [...document.querySelectorAll('img, a, strong, em, code, .katex')].filter(one =>
  one.matches('img[src="x"], img[src*=":9/"], a[href^="javascript"], .katex') ||
  one.matches('strong, code') && ['b0ld', 'c0de'].includes(one.textContent)).map(one => one.outerHTML)"""


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, with two runs of evil texts."""
    pitwall = Pitwall(tmp_path_factory.mktemp("pitwall") / "data", free_ports(1)[0])
    log = f"{EVIL}\nINFO 11-20 12:00:00 [x.py:1] args: {{'api_key': '{SECRET}'}} --api-key {SECRET}\n"
    ids = [seed_finished(pitwall.data, EVIL, log) for _ in range(2)]
    assert len(set(ids)) == 2
    store = Store.open(
        Settings(data_dir=pitwall.data)
    )  # with a sample each, so that Compare has charts with their names
    store.write(Batch(tuple(GpuSample(run_id, BEGAN, 0.0, "m", 0, power_w=300.0) for run_id in ids))).result()
    store.close()
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


@pytest.fixture(scope="module")
def page(browser: Browser, pitwall: Pitwall) -> Iterator[Page]:
    context = signed_in(browser, pitwall, viewport={"width": 1400, "height": 2400})
    yield context.new_page()
    context.close()


KNOWN: dict[str, Callable[[Page], Locator]] = {
    "": lambda page: page.get_by_text("Links and changes"),
    "live": lambda page: page.locator(".lv-lanes").filter(has_text="E0"),
    "compare": lambda page: page.get_by_text("Over time since ready"),
    "run": lambda page: page.locator(".pw-log"),
    "launch": command_box,
    "launch?run=": lambda page: page.get_by_text("Unknown run"),
    "sql": lambda page: page.get_by_role("button", name="Run", exact=True),
    "live?run=": lambda page: page.get_by_text("No run has the id"),
    "run?run=": lambda page: page.get_by_text("No run has the id"),
}


@pytest.mark.parametrize("path", KNOWN)
def test_nothing_that_others_wrote_is_markup(page: Page, pitwall: Pitwall, path: str) -> None:
    ids = [row[0] for row in pitwall.sql("SELECT run_id FROM runs ORDER BY run_id")]
    query = "" if "?" in path or path in ("", "launch", "sql") else "?" + "&".join(f"run={one}" for one in ids)
    has_first_look = not path.startswith(("launch", "sql"))  # which is part of what the server sends, before any script
    go = Page.goto if has_first_look else visit
    go(page, f"{pitwall.url}/{path}{query or (EVIL if path.endswith('=') else '')}")
    if has_first_look:
        expect(page.locator("[data-testid=stMain]")).to_contain_text("E0")
    expect_whole(KNOWN[path](page))
    assert page.evaluate("window.owned") is None
    assert page.evaluate(ALIVE) == []
    assert SECRET not in page.content()
    assert page.locator("[data-testid=stException]").count() == 0


def test_the_log_is_shown_with_its_secret_masked(page: Page, pitwall: Pitwall) -> None:
    [run_id] = pitwall.sql("SELECT max(run_id) FROM runs")[0]
    visit(page, f"{pitwall.url}/run?run={run_id}")
    expect(page.locator(".pw-log")).to_contain_text("--api-key <secret>")
    expect(page.locator(".pw-log")).to_contain_text("<script>window.owned=1</script>")


def test_a_share_of_evil_runs_is_text_too(page: Page, browser: Browser, pitwall: Pitwall) -> None:
    [run_id] = pitwall.sql("SELECT max(run_id) FROM runs")[0]
    visit(page, f"{pitwall.url}/run?run={run_id}")
    press(page.get_by_role("button", name="Share", exact=True))
    current(page.get_by_label("For whom")).fill(EVIL)
    press(page.get_by_role("button", name="Make a link"))
    link = page.get_by_role("dialog").locator("code", has_text="/share/").first.inner_text().strip()
    viewer = browser.new_context().new_page()
    viewer.goto(link)
    expect(viewer.get_by_text("What happened")).to_be_visible()
    viewer.goto(pitwall.url)
    expect(viewer.get_by_text("Shared runs")).to_be_visible()
    visit(page, pitwall.url)
    press(page.get_by_text("Links and changes"))
    expect(page.get_by_role("button", name="Revoke")).to_be_visible()
    for one in (page, viewer):
        assert one.evaluate("window.owned") is None
        assert one.evaluate(ALIVE) == []
    viewer.context.close()
