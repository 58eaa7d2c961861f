"""Reports in a real browser: downloaded by the operator and by a guest, opened without a network, harmless."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from settings import Settings
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from tests.e2e.faults.test_untrusted_text import EVIL
from tests.e2e.page_at_rest import current, downloaded_by, expect_whole, press
from tests.e2e.pitwall_process import Pitwall
from tests.e2e.seeds import seed_finished
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.timeout(600)]


def seed_arms(data: Path) -> None:
    """Three starts without drafts and three with drafts of 4."""
    store, rng = Store.open(Settings(data_dir=data)), np.random.default_rng(21)
    for place, k in enumerate((0, 4)):
        runs = repeats(IdealEngine(0.02, drafts=k, start_sd=0.005), "ladder", 3, rng, **SMALL)
        for number, facts in enumerate(runs):
            stored(store, facts, k, 20 * place + number)
    store.close()


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    """Up, with two arms of three starts, and a failed run of evil texts."""
    pitwall = Pitwall(tmp_path_factory.mktemp("pitwall") / "data", free_ports(1)[0])
    seed_finished(pitwall.data, EVIL, f"{EVIL}\n")
    seed_arms(pitwall.data)
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


def ids(pitwall: Pitwall, where: str) -> list[str]:
    return [str(row[0]) for row in pitwall.sql(f"SELECT run_id FROM runs WHERE {where} ORDER BY name")]


def downloaded(page: Page, name: str, folder: Path) -> Path:
    """What a press on one of the report's buttons gives."""
    press(current(page.get_by_role("button", name="Report")).first)
    found = downloaded_by(page.get_by_role("button", name=name))
    path = folder / found.suggested_filename
    found.save_as(path)
    return path


# Names of the frontier's points that cover another name, or reach over the chart's edge.
COVERED_NAMES = """() => {
  const edge = document.querySelector(".rp-frontier svg").getBoundingClientRect();
  const names = [...document.querySelectorAll(".rp-arm")].map((name) => [name.textContent, name.getBoundingClientRect()]);
  const covers = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return names.filter(([text, box]) => box.left < edge.left || box.right > edge.right + 1 ||
    names.some(([other, there]) => other !== text && covers(box, there))).map(([text]) => text);
}"""  # noqa: E501


def test_report_opens_offline_in_both_schemes(browser: Browser, page: Page, pitwall: Pitwall, tmp_path: Path) -> None:
    page.goto(f"{pitwall.url}/compare?" + "&".join(f"run={one}" for one in ids(pitwall, "name LIKE 'k %'")))
    answer = page.locator(".pw-say").first
    expect_whole(answer)
    text = answer.inner_text()
    path = downloaded(page, "One page (HTML)", tmp_path)
    markdown = downloaded(page, "Markdown", tmp_path).read_text() if page.reload() else ""
    page.goto("about:blank")
    assert text in markdown.replace("\\", "")
    grounds = set()
    for width in (1400, 390):
        for scheme in ("light", "dark"):
            opened = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, accept_downloads=True
            )
            report, heard = opened.new_page(), []
            report.on("console", lambda message: heard.append(message.text))  # noqa: B023
            report.on("request", lambda one: heard.append(one.url) if not one.url.startswith("file:") else None)  # noqa: B023
            report.goto(path.as_uri())
            expect(report.locator(".pw-say").first).to_have_text(text)
            assert report.evaluate("document.documentElement.scrollWidth") <= width
            expect(report.locator(".rp-frontier circle")).to_have_count(6)  # two arms at 2, 4 and 8 at once
            report.get_by_label("Draw").select_option(index=1)
            expect(report.locator(".rp-frontier circle")).to_have_count(2)
            grounds.add(report.evaluate("getComputedStyle(document.body).backgroundColor"))
            with report.expect_download() as download:
                report.locator("button[data-csv=answers]").click()
            assert "k 4" in Path(download.value.path()).read_text()
            assert heard == []
            opened.close()
    assert len(grounds) == 2


def test_names_of_close_points_do_not_cover_each_other(
    browser: Browser, page: Page, pitwall: Pitwall, tmp_path: Path
) -> None:
    page.goto(f"{pitwall.url}/compare?" + "&".join(f"run={one}" for one in ids(pitwall, "name LIKE 'k %'")))
    expect_whole(page.locator(".pw-say").first)
    path = downloaded(page, "One page (HTML)", tmp_path)
    page.goto("about:blank")
    head, data, rest = re.split(r'(?<=id="report-data">)(.*?)(?=</script>)', path.read_text(), maxsplit=1)
    values = json.loads(data)
    for number, point in enumerate(values["frontiers"][0]["points"]):
        point |= {"x": 100.0 + number / 20, "y": 200.0 + number % 2, "x_interval": [50.0, 150.0], "y_interval": None}
    crowded = tmp_path / "crowded.html"
    crowded.write_text(head + json.dumps(values) + rest)
    context = browser.new_context(viewport={"width": 1400, "height": 900}, offline=True)
    report = context.new_page()
    report.goto(crowded.as_uri())
    expect(report.locator(".rp-frontier .rp-arm")).to_have_count(6)
    assert report.evaluate(COVERED_NAMES) == []
    context.close()


def test_guest_report_covers_only_shared_runs(
    browser: Browser, open_page: Page, pitwall: Pitwall, tmp_path: Path
) -> None:
    (evil,) = ids(pitwall, "name LIKE 'E0%'")
    others = ids(pitwall, "name LIKE 'k %'")
    open_page.goto(f"{pitwall.url}/run?run={evil}")
    press(open_page.get_by_role("button", name="Share"))
    press(open_page.get_by_role("button", name="Make a link"))
    link = open_page.locator("[data-testid=stDialog] [data-testid=stCode]").first.inner_text().strip()
    guest = browser.new_context()
    page = guest.new_page()
    page.goto(link)
    path = downloaded(page, "One page (HTML)", tmp_path)
    text = path.read_text()
    assert "made by a guest of a shared link" in text and not any(one in text for one in others)
    page.goto(f"{pitwall.url}/run?run={others[0]}")
    expect(page.get_by_text("No run has the id")).to_be_visible()
    assert page.get_by_role("button", name="Report").count() == 0
    page.goto(path.as_uri())
    expect(page.get_by_role("heading", level=1)).to_contain_text("E0 <img src=x")
    assert page.evaluate("window.owned") is None and page.locator("img").count() == 0
    guest.close()
